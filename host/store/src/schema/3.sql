-- Whose session it is, where several share a host.
ALTER TABLE session ADD COLUMN owner TEXT;

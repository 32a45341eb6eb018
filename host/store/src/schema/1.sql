-- Ids are text of any origin; rows refer to each other by number.
CREATE TABLE session (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    created TEXT NOT NULL,
    parent TEXT,
    directory TEXT,
    variant TEXT NOT NULL,
    deployment TEXT
) STRICT;

-- `data` is the JSON of the event's data alone; `seq` runs from 1 without a gap.
CREATE TABLE event (
    session INTEGER NOT NULL REFERENCES session,
    seq INTEGER NOT NULL,
    time TEXT NOT NULL,
    run INTEGER NOT NULL,
    step INTEGER NOT NULL,
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    display INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX event_order ON event (session, seq);

-- What a session is called in lists.
CREATE INDEX event_title ON event (session, seq) WHERE type = 'message.user';

-- Texts by the SHA-256 of their bytes.
CREATE TABLE text (
    digest BLOB PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

-- What plugins keep.
CREATE TABLE state (
    session INTEGER NOT NULL REFERENCES session,
    plugin TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (session, plugin, key)
) STRICT;

-- Who runs a session, and until when if nothing more is heard.
CREATE TABLE lease (
    session INTEGER PRIMARY KEY REFERENCES session,
    owner TEXT NOT NULL,
    until TEXT NOT NULL
) STRICT;

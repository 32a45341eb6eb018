-- What was left for whoever runs a session, from any process. `body` is the injection's JSON.
CREATE TABLE mail (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES session,
    body TEXT NOT NULL
) STRICT;

CREATE INDEX mail_order ON mail (session, number);

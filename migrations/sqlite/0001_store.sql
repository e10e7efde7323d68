-- The store: conversations, what was sent for them, and what came back.
--
-- Bodies are BLOBs, so that no text encoding and no JSON function ever touches them. Times are INTEGER
-- milliseconds since the epoch, UTC, from the caller's clock, and 0 when there is none; columns that end
-- in _ns are nanoseconds. Small rows with a composite key are WITHOUT ROWID (one tree instead of two);
-- rows that carry bodies keep their rowid, because a tree of large keys is slow to balance.

-- +goose Up

PRAGMA application_id = 1466263922;

-- num is the order in which conversations were made: a list of the newest needs no clock.
CREATE TABLE conversations (
    num        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT    NOT NULL UNIQUE CHECK (id <> ''),
    title      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    parent     TEXT    NOT NULL,
    fork_round INTEGER NOT NULL,
    settings   BLOB
) STRICT;

CREATE TABLE turns (
    conversation TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    n            INTEGER NOT NULL CHECK (n > 0),
    key          TEXT,
    first_seq    INTEGER NOT NULL,
    state        TEXT    NOT NULL CHECK (state = 'open' OR state = 'cancelling' OR state = 'waiting' OR state = 'ended'),
    reason       TEXT    NOT NULL,
    rounds       INTEGER NOT NULL,
    tokens       INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    PRIMARY KEY (conversation, n)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX turns_by_key ON turns (conversation, key) WHERE key IS NOT NULL;

-- The first base_count fragments of an epoch are those of its base; base 0 means that it has none.
CREATE TABLE epochs (
    conversation TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    n            INTEGER NOT NULL CHECK (n > 0),
    dialect      TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    base         INTEGER NOT NULL CHECK (base >= 0 AND base < n),
    base_count   INTEGER NOT NULL CHECK (base_count >= 0),
    head_sha256  BLOB    NOT NULL CHECK (length(head_sha256) = 32),
    fingerprint  BLOB    NOT NULL,
    head         BLOB    NOT NULL,
    tail         BLOB    NOT NULL,
    PRIMARY KEY (conversation, n)
) STRICT;

-- turn and round are 0 for none.
CREATE TABLE messages (
    conversation TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    seq          INTEGER NOT NULL CHECK (seq > 0),
    turn         INTEGER NOT NULL,
    round        INTEGER NOT NULL,
    role         TEXT    NOT NULL,
    codec        TEXT    NOT NULL,
    sha256       BLOB    NOT NULL CHECK (length(sha256) = 32),
    body         BLOB    NOT NULL,
    PRIMARY KEY (conversation, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE fragments (
    conversation TEXT    NOT NULL,
    epoch        INTEGER NOT NULL,
    pos          INTEGER NOT NULL CHECK (pos > 0),
    seq          INTEGER NOT NULL,
    encoder      TEXT    NOT NULL,
    chain        BLOB    NOT NULL CHECK (length(chain) = 32),
    bytes        BLOB    NOT NULL,
    PRIMARY KEY (conversation, epoch, pos),
    FOREIGN KEY (conversation, epoch) REFERENCES epochs (conversation, n) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- seq is the message that opened the round and results_seq the one that closed it, 0 for none.
CREATE TABLE rounds (
    conversation TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    n            INTEGER NOT NULL CHECK (n > 0),
    turn         INTEGER NOT NULL,
    key          TEXT,
    digest       BLOB    NOT NULL CHECK (length(digest) = 32),
    seq          INTEGER NOT NULL,
    results_seq  INTEGER NOT NULL,
    closed       INTEGER NOT NULL CHECK (closed = 0 OR closed = 1),
    calls        INTEGER NOT NULL CHECK (calls > 0),
    PRIMARY KEY (conversation, n)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX rounds_by_key ON rounds (conversation, key) WHERE key IS NOT NULL;

-- sub is 0 for a call that the model made and counts the inner calls of one; parent_sub is the sub of
-- the call that made an inner call.
CREATE TABLE calls (
    conversation TEXT    NOT NULL,
    round        INTEGER NOT NULL,
    idx          INTEGER NOT NULL CHECK (idx > 0),
    sub          INTEGER NOT NULL CHECK (sub >= 0),
    parent_sub   INTEGER,
    provider_id  TEXT    NOT NULL,
    tool         TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state = 'pending' OR state = 'waiting' OR state = 'running' OR state = 'settled' OR state = 'answered'),
    outcome      TEXT    NOT NULL CHECK (outcome = '' OR outcome = 'done' OR outcome = 'failed' OR outcome = 'cancelled' OR outcome = 'not_started' OR outcome = 'unknown' OR outcome = 'late'),
    attempt      INTEGER NOT NULL CHECK (attempt >= 0),
    fence        INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    settled_at   INTEGER NOT NULL,
    args_sha256  BLOB    NOT NULL CHECK (length(args_sha256) = 32),
    args         BLOB    NOT NULL,
    PRIMARY KEY (conversation, round, idx, sub),
    FOREIGN KEY (conversation, round) REFERENCES rounds (conversation, n) ON DELETE CASCADE,
    FOREIGN KEY (conversation, round, idx, parent_sub) REFERENCES calls (conversation, round, idx, sub) ON DELETE CASCADE,
    CHECK ((sub = 0) = (parent_sub IS NULL))
) STRICT, WITHOUT ROWID;

-- newlines are the counts per block of 64 KiB, little-endian words of 32 bits.
CREATE TABLE spills (
    conversation TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL CHECK (name <> ''),
    file         TEXT    NOT NULL,
    bytes        INTEGER NOT NULL,
    lines        INTEGER NOT NULL,
    chars        INTEGER NOT NULL,
    sha256       BLOB    NOT NULL CHECK (length(sha256) = 32),
    complete     INTEGER NOT NULL CHECK (complete = 0 OR complete = 1),
    newlines     BLOB    NOT NULL,
    PRIMARY KEY (conversation, name)
) STRICT;

-- whole is NULL when the text was spilled on arrival. shown is NULL until the round is closed and, when
-- the call is answered, while it is the same bytes as whole.
CREATE TABLE results (
    conversation TEXT    NOT NULL,
    round        INTEGER NOT NULL,
    idx          INTEGER NOT NULL,
    sub          INTEGER NOT NULL,
    spill        TEXT,
    is_error     INTEGER NOT NULL CHECK (is_error = 0 OR is_error = 1),
    bytes        INTEGER NOT NULL,
    lines        INTEGER NOT NULL,
    chars        INTEGER NOT NULL,
    sha256       BLOB    NOT NULL CHECK (length(sha256) = 32),
    tokens       INTEGER NOT NULL,
    duration_ns  INTEGER NOT NULL,
    notes        BLOB,
    structured   BLOB,
    shown        BLOB,
    whole        BLOB,
    PRIMARY KEY (conversation, round, idx, sub),
    FOREIGN KEY (conversation, round, idx, sub) REFERENCES calls (conversation, round, idx, sub) ON DELETE CASCADE,
    FOREIGN KEY (conversation, spill) REFERENCES spills (conversation, name),
    CHECK (whole IS NOT NULL OR spill IS NOT NULL)
) STRICT;

CREATE TABLE approvals (
    conversation TEXT    NOT NULL,
    round        INTEGER NOT NULL,
    idx          INTEGER NOT NULL,
    sub          INTEGER NOT NULL,
    digest       BLOB    NOT NULL CHECK (length(digest) = 32),
    state        TEXT    NOT NULL CHECK (state = 'asked' OR state = 'granted' OR state = 'denied' OR state = 'used'),
    reason       TEXT    NOT NULL,
    asked_at     INTEGER NOT NULL,
    answered_at  INTEGER NOT NULL,
    used_at      INTEGER NOT NULL,
    PRIMARY KEY (conversation, round, idx, sub),
    FOREIGN KEY (conversation, round, idx, sub) REFERENCES calls (conversation, round, idx, sub) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- An empty holder means that nobody drives the conversation; the fence stays.
CREATE TABLE leases (
    conversation TEXT    NOT NULL PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
    holder       TEXT    NOT NULL,
    run          TEXT    NOT NULL,
    fence        INTEGER NOT NULL CHECK (fence > 0),
    expires_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE reads (
    conversation TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    path         TEXT    NOT NULL,
    size         INTEGER NOT NULL,
    mtime_ns     INTEGER NOT NULL,
    sha256       BLOB    NOT NULL CHECK (length(sha256) = 32),
    PRIMARY KEY (conversation, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
    conversation TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    id           TEXT    NOT NULL CHECK (id <> ''),
    tool         TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL,
    args         BLOB    NOT NULL,
    PRIMARY KEY (conversation, id)
) STRICT;

-- outcome is empty while nothing is known of the request.
CREATE TABLE requests (
    conversation  TEXT    NOT NULL,
    n             INTEGER NOT NULL CHECK (n > 0),
    epoch         INTEGER NOT NULL,
    last_pos      INTEGER NOT NULL,
    head_sha256   BLOB    NOT NULL CHECK (length(head_sha256) = 32),
    chain         BLOB    NOT NULL CHECK (length(chain) = 32),
    message_bytes INTEGER NOT NULL,
    total_bytes   INTEGER NOT NULL,
    usage_in      INTEGER NOT NULL,
    usage_out     INTEGER NOT NULL,
    cache_read    INTEGER NOT NULL,
    cache_write   INTEGER NOT NULL,
    latency_ns    INTEGER NOT NULL,
    outcome       TEXT    NOT NULL,
    PRIMARY KEY (conversation, n),
    FOREIGN KEY (conversation, epoch) REFERENCES epochs (conversation, n) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    conversation TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    seq          INTEGER NOT NULL CHECK (seq > 0),
    kind         TEXT    NOT NULL,
    data         BLOB    NOT NULL,
    PRIMARY KEY (conversation, seq)
) STRICT;

-- What was stored stays as it is. Rows go only with their conversation: while that is there, deleting
-- one is refused; when it is deleted, they follow.

-- +goose StatementBegin
CREATE TRIGGER epochs_fixed BEFORE UPDATE ON epochs BEGIN
    SELECT RAISE(ABORT, 'an epoch is never changed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER epochs_kept BEFORE DELETE ON epochs
WHEN EXISTS (SELECT 1 FROM conversations WHERE id = OLD.conversation) BEGIN
    SELECT RAISE(ABORT, 'an epoch is deleted only with its conversation');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER messages_fixed BEFORE UPDATE ON messages BEGIN
    SELECT RAISE(ABORT, 'a message is never changed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER messages_kept BEFORE DELETE ON messages
WHEN EXISTS (SELECT 1 FROM conversations WHERE id = OLD.conversation) BEGIN
    SELECT RAISE(ABORT, 'a message is deleted only with its conversation');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER fragments_fixed BEFORE UPDATE ON fragments BEGIN
    SELECT RAISE(ABORT, 'a fragment is never changed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER fragments_kept BEFORE DELETE ON fragments
WHEN EXISTS (SELECT 1 FROM conversations WHERE id = OLD.conversation) BEGIN
    SELECT RAISE(ABORT, 'a fragment is deleted only with its conversation');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER requests_fixed BEFORE UPDATE OF
    conversation, n, epoch, last_pos, head_sha256, chain, message_bytes, total_bytes ON requests BEGIN
    SELECT RAISE(ABORT, 'what a request was made of is never changed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER calls_fixed BEFORE UPDATE OF
    conversation, round, idx, sub, parent_sub, provider_id, tool, args, args_sha256, created_at ON calls BEGIN
    SELECT RAISE(ABORT, 'what a call asks for is never changed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER spills_fixed BEFORE UPDATE ON spills BEGIN
    SELECT RAISE(ABORT, 'a spill is never changed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER results_fixed BEFORE UPDATE OF
    conversation, round, idx, sub, is_error, bytes, lines, chars, sha256, tokens, duration_ns ON results BEGIN
    SELECT RAISE(ABORT, 'what came back from a call is never changed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER results_once BEFORE UPDATE OF whole, structured, notes, spill, shown ON results
WHEN (OLD.whole IS NOT NULL AND NEW.whole IS NOT OLD.whole)
  OR (OLD.structured IS NOT NULL AND NEW.structured IS NOT OLD.structured)
  OR (OLD.notes IS NOT NULL AND NEW.notes IS NOT OLD.notes)
  OR (OLD.spill IS NOT NULL AND NEW.spill IS NOT OLD.spill)
  OR (NEW.shown IS NOT OLD.shown AND (OLD.shown IS NOT NULL OR EXISTS (
         SELECT 1 FROM calls
         WHERE conversation = OLD.conversation AND round = OLD.round AND idx = OLD.idx AND sub = OLD.sub
           AND state = 'answered'))) BEGIN
    SELECT RAISE(ABORT, 'a result is written once');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER results_kept BEFORE DELETE ON results
WHEN EXISTS (SELECT 1 FROM conversations WHERE id = OLD.conversation) BEGIN
    SELECT RAISE(ABORT, 'a result is deleted only with its conversation');
END;
-- +goose StatementEnd

-- +goose Up
-- What was shown of a result, where it is not the whole text, has a hash of its own; NULL in rows that are older.
ALTER TABLE results ADD COLUMN shown_sha256 BLOB CHECK (shown_sha256 IS NULL OR length(shown_sha256) = 32);

-- +goose StatementBegin
CREATE TRIGGER results_shown_once BEFORE UPDATE OF shown_sha256 ON results
WHEN OLD.shown_sha256 IS NOT NULL AND NEW.shown_sha256 IS NOT OLD.shown_sha256 BEGIN
    SELECT RAISE(ABORT, 'a result is written once');
END;
-- +goose StatementEnd

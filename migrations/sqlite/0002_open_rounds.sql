-- +goose Up
-- A server's calls are rounds that may be open beside each other; whoever takes the lease looks for all of them.
CREATE INDEX rounds_open ON rounds (conversation, n) WHERE closed = 0;

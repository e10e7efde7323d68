-- name: LeaseOf :one
SELECT holder, run, fence, expires_at FROM leases WHERE conversation = ?;

-- name: PutLease :exec
INSERT INTO leases (conversation, holder, run, fence, expires_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (conversation) DO UPDATE
SET holder = excluded.holder, run = excluded.run, fence = excluded.fence, expires_at = excluded.expires_at;

-- name: RenewLease :exec
UPDATE leases SET expires_at = ? WHERE conversation = ?;

-- name: FreeLease :exec
UPDATE leases SET holder = '', run = '', expires_at = 0
WHERE conversation = ? AND holder = ? AND run = ? AND fence = ?;

-- name: FreeLeasesOf :exec
UPDATE leases SET holder = '', run = '', expires_at = 0 WHERE holder = ?;

-- name: HasConversation :one
SELECT EXISTS (SELECT 1 FROM conversations WHERE id = ?);

-- name: AddConversation :exec
INSERT INTO conversations (id, title, created_at, parent, fork_round, settings) VALUES (?, ?, ?, ?, ?, ?);

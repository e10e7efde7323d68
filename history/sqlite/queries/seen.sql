-- name: PutRead :exec
INSERT INTO reads (conversation, path, size, mtime_ns, sha256, round, idx, sub)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (conversation, path) DO UPDATE
SET size = excluded.size, mtime_ns = excluded.mtime_ns, sha256 = excluded.sha256,
    round = excluded.round, idx = excluded.idx, sub = excluded.sub;

-- name: ReadOf :one
SELECT size, mtime_ns, sha256, round, idx, sub FROM reads WHERE conversation = ? AND path = ?;

-- name: ForkReads :exec
INSERT INTO reads (conversation, path, size, mtime_ns, sha256, round, idx, sub)
SELECT sqlc.arg(child), path, size, mtime_ns, sha256, round, idx, sub
FROM reads AS old WHERE old.conversation = sqlc.arg(parent) AND old.round > 0 AND old.round <= sqlc.arg(round);

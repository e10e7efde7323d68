-- name: PutJob :execrows
INSERT INTO jobs (conversation, id, tool, state, created_at, started_at, ended_at, args)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (conversation, id) DO UPDATE
SET state = excluded.state, ended_at = excluded.ended_at
WHERE jobs.state = 'running';

-- name: Jobs :many
SELECT id, tool, state, created_at, started_at, ended_at, args FROM jobs WHERE conversation = ? ORDER BY rowid;

package history

import (
	"context"
	"time"
)

// JobState is where a job stands.
type JobState string

// The states of a job.
const (
	// JobRunning was handed out and has not ended, as far as is known: after a crash its call says more.
	JobRunning JobState = "running"
	// JobEnded has its result, whatever that says.
	JobEnded JobState = "ended"
	// JobCancelled was cancelled by whoever asked for it; its result says what came of it.
	JobCancelled JobState = "cancelled"
)

// Job is a call that outlives the request that made it. Its id is that of its result.
type Job struct {
	ID    CallID
	Tool  string
	Args  []byte
	State JobState
	// Created is when its handle was given out, Started when its call began, Ended zero while it runs.
	Created, Started, Ended time.Time
}

// Jobs are the calls of a conversation that outlive their requests.
type Jobs interface {
	// PutJob stores a job, or its next state. ErrConflict for a job that has ended.
	PutJob(ctx context.Context, l Lease, j Job) error
	// JobsOf lists the jobs of a conversation in the order of their calls.
	JobsOf(ctx context.Context, conversation string) ([]Job, error)
}

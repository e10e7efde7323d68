package history

import (
	"context"
	"time"
)

// Keeper copies and removes whole conversations.
type Keeper interface {
	// Fork makes child a copy of a conversation up to a closed round (0 means the last one), complete
	// on its own: rows are copied, files are shared by hard links where the file system allows it. Turns
	// that end later are cut there and ended. ErrNotFound for the conversation or the round, ErrConflict
	// for a round that is open or a child that exists.
	Fork(ctx context.Context, conversation string, round int, child Conversation) error
	// Delete removes a conversation, its rows and its files, as one operation: what a crash interrupts
	// is finished by the next write. *BusyError while a live holder drives it.
	Delete(ctx context.Context, conversation string) error
	// Sweep removes temporary files, and files without a row, that are older than olderThan and carry
	// this program's names, and finishes interrupted deletions. It says how many files it removed.
	Sweep(ctx context.Context, olderThan time.Time) (int, error)
	// Compact gives free space back to the file system (VACUUM). It is never done by itself.
	Compact(ctx context.Context) error
	// Backup writes a consistent copy of the database to a new file (VACUUM INTO).
	Backup(ctx context.Context, path string) error
}

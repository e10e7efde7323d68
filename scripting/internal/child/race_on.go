//go:build race

package child

// raced says that the race detector is on: its own memory would count, so there is no limit of memory.
const raced = true

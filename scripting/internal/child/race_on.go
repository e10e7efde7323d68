//go:build race

package child

import "time"

// Ready is how long a script process may take until it is ready: a program with the race detector needs
// many times what it needs without, on a machine where many of them begin at once.
const Ready = 20 * time.Second

// raced says that the race detector is on: its own memory would count, so there is no limit of memory.
const raced = true

//go:build !race

package child

import "time"

// Ready is how long a script process may take until it is ready.
const Ready = 5 * time.Second

// raced says that the race detector is on: its own memory would count, so there is no limit of memory.
const raced = false

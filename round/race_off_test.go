//go:build !race

package round_test

// raceEnabled says that the race detector's own memory is in every figure.
const raceEnabled = false

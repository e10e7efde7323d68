package search

// frequency estimates how many of 65,536 bytes are this one, from ' ' to '~'. Measured over 160 MB of
// source, documentation and logs, with digits and the marks of JSON raised.
var frequency = [95]uint16{
	7870, 57, 1600, 81, 24, 39, 65, 120, 633, 633, 214, 57, 1300, 700, 1000, 1330,
	2400, 1500, 1200, 900, 800, 700, 800, 600, 700, 700, 1300, 91, 465, 536, 470, 20,
	30, 359, 168, 295, 235, 368, 192, 107, 98, 310, 24, 40, 226, 211, 218, 286,
	240, 33, 330, 424, 384, 126, 164, 74, 160, 56, 20, 250, 244, 250, 20, 508,
	106, 2358, 684, 1521, 1310, 3776, 961, 685, 897, 2239, 138, 255, 1630, 883, 2310, 2172,
	1226, 52, 2306, 2403, 3121, 1076, 412, 265, 1012, 470, 64, 400, 52, 400, 20,
}

// often is the frequency of any byte.
func often(c byte) int {
	switch {
	case ' ' <= c && c <= '~':
		return int(frequency[c-' '])
	case c >= 0x80:
		return 100
	case c == '\t':
		return 1687
	default:
		return 20
	}
}

// oftenFold is often for a letter in either case.
func oftenFold(c byte) int {
	if up, ok := upper(c); ok {
		return often(c) + often(up)
	}
	return often(c)
}

// upper returns the upper case of a lower-case ASCII letter.
func upper(c byte) (byte, bool) { return c &^ 0x20, 'a' <= c && c <= 'z' }

// cost estimates what looking for a set costs, for each byte of text: passes over it, stops at a byte
// that could begin a hit, and hits. Its unit is arbitrary.
func cost(set []lit) float64 {
	total := 0.0
	for _, l := range set {
		rarest, hits := 65536, 1.0
		for i := range len(l.text) {
			f := often(l.text[i])
			if l.fold {
				f = oftenFold(l.text[i])
			}
			rarest = min(rarest, f)
			hits *= float64(f) / 65536 * 4 // letters come in words: less rare together than apart
		}
		total += 1 + float64(rarest)/200 + 100000*min(hits, 1)/float64(1+len(l.text))
	}
	return total
}

// better returns the set that costs less; no set at all costs most.
func better(a, b []lit) []lit {
	a, b = usable(a), usable(b)
	if len(a) == 0 || len(b) > 0 && cost(b) < cost(a) {
		return b
	}
	return a
}

// worthwhile reports whether looking for a set first pays: one that most lines hold does not.
func worthwhile(set []lit) bool { return usable(set) != nil && cost(set) < 4000 }

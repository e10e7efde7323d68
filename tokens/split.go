package tokens

// Each encoding parts a text into pieces before bytes are merged, by a pattern that defines it as much
// as its vocabulary does (openai/tiktoken, tiktoken_ext/openai_public.py). What a backtracking engine
// does with these patterns is written out here, one function for each alternative, so that the time is
// linear in the text whatever is in it.
//
//	o200k_base:
//	  [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	  [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	  \p{N}{1,3}    ␣?[^\s\p{L}\p{N}]+[\r\n/]*    \s*[\r\n]+    \s+(?!\S)    \s+
//	cl100k_base:
//	  (?i:'s|'t|'re|'ve|'m|'ll|'d)    [^\r\n\p{L}\p{N}]?\p{L}+
//	  \p{N}{1,3}    ␣?[^\s\p{L}\p{N}]+[\r\n]*     \s*[\r\n]+    \s+(?!\S)    \s+

// splitter gives the end of the piece that begins at i; i lies within the text.
type splitter func(c *alphabet, text string, i int) int

func splitO200K(c *alphabet, text string, i int) int {
	is, size := c.at(text, i)
	after := i + size
	if is&(letter|number|newline) == 0 && after < len(text) {
		// It may be what stands before a word.
		if end := wordO200K(c, text, after); end > 0 {
			return end
		}
	}
	if is&(letter|accent) != 0 {
		if end := wordO200K(c, text, i); end > 0 {
			return end
		}
	}
	return other(c, text, i, is, after, true)
}

// wordO200K is one of the first two alternatives without what may stand before; 0 when neither fits.
func wordO200K(c *alphabet, text string, i int) int {
	j, last := i, 0 // the end of the head, and of its last character that is also in the rest
	for j < len(text) {
		is, size := c.at(text, j)
		if is&head == 0 {
			if is&rest != 0 {
				return contraction(text, c.run(text, j, rest))
			}
			break
		}
		j += size
		if is&both != 0 {
			last = j
		}
	}
	switch {
	case last > 0:
		return contraction(text, last)
	case j > i:
		return contraction(text, j)
	}
	return 0
}

func splitCL100K(c *alphabet, text string, i int) int {
	if end := contraction(text, i); end > i {
		return end
	}
	is, size := c.at(text, i)
	after := i + size
	if is&letter != 0 {
		return c.run(text, after, letter)
	}
	if is&(number|newline) == 0 {
		if end := c.run(text, after, letter); end > after {
			return end
		}
	}
	return other(c, text, i, is, after, false)
}

// other is what the two encodings have in common: numbers, marks and white space. is and after are the
// class and the end of the first character.
func other(c *alphabet, text string, i int, is class, after int, slash bool) int {
	switch {
	case is&number != 0:
		for range 2 {
			if after == len(text) {
				break
			}
			next, size := c.at(text, after)
			if next&number == 0 {
				break
			}
			after += size
		}
		return after
	case is&blank == 0:
		return marks(c, text, after, slash)
	case text[i] == ' ' && after < len(text):
		if next, size := c.at(text, after); next&(blank|letter|number) == 0 {
			return marks(c, text, after+size, slash)
		}
	}
	return spaces(c, text, i)
}

// marks goes to the end of a run of marks and of the line ends behind it.
func marks(c *alphabet, text string, i int, slash bool) int {
	for i < len(text) {
		is, size := c.at(text, i)
		if is&(blank|letter|number) != 0 {
			break
		}
		i += size
	}
	for i < len(text) && (text[i] == '\n' || text[i] == '\r' || slash && text[i] == '/') {
		i++
	}
	return i
}

// spaces is one of the last three alternatives: up to the last line end of the run, else all but the last
// character, which may stand before a word.
func spaces(c *alphabet, text string, i int) int {
	j, line, before := i, 0, i
	for j < len(text) {
		is, size := c.at(text, j)
		if is&blank == 0 {
			break
		}
		before = j
		j += size
		if is&newline != 0 {
			line = j
		}
	}
	switch {
	case line > 0:
		return line
	case j == len(text) || before == i:
		return j
	}
	return before
}

// contraction gives the end of an English one that begins at i, else i. The long s is an s to a pattern
// that ignores case.
func contraction(text string, i int) int {
	if i+1 >= len(text) || text[i] != '\'' {
		return i
	}
	first := text[i+1] | 0x20
	switch first {
	case 's', 't', 'm', 'd':
		return i + 2
	case 0xC5 | 0x20:
		if i+2 < len(text) && text[i+1:i+3] == "ſ" {
			return i + 3
		}
	}
	if i+2 < len(text) {
		switch second := text[i+2] | 0x20; {
		case first == 'r' && second == 'e', first == 'v' && second == 'e', first == 'l' && second == 'l':
			return i + 3
		}
	}
	return i
}

package lower

import (
	"encoding/json"
	"strings"
)

// Origin gives the position in the script of one in Program.Code, a line from 1 and a column from 0: that of the last
// mapping at or before it on its line (Source Map, revision 3). Zeros say that there is none.
func (p Program) Origin(line, column int) (int, int) {
	var m struct{ Mappings string }
	if json.Unmarshal(p.Map, &m) != nil {
		return 0, 0
	}
	var source [3]int // of each segment: the file, the line and the column, as running sums
	foundLine, foundColumn := -1, 0
	for i, segments := range strings.Split(m.Mappings, ";") {
		at := 0
		for _, segment := range strings.Split(segments, ",") {
			fields := digits(segment)
			if len(fields) == 0 {
				continue
			}
			at += fields[0]
			for j := 1; j < 4 && j < len(fields); j++ {
				source[j-1] += fields[j]
			}
			if i == line-1 && at <= column && len(fields) > 1 {
				foundLine, foundColumn = source[1], source[2]
			}
		}
		if i == line-1 {
			break
		}
	}
	if foundLine < 0 {
		return 0, 0
	}
	return Place(foundLine+1, foundColumn)
}

// digits reads the numbers of a segment: base 64, five bits a digit, least first, the sign in the lowest bit.
func digits(segment string) []int {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var out []int
	value, shift := 0, 0
	for i := range len(segment) {
		d := strings.IndexByte(alphabet, segment[i])
		if d < 0 || shift > 30 {
			return nil
		}
		value |= d & 31 << shift
		if d&32 != 0 {
			shift += 5
			continue
		}
		if value&1 != 0 {
			value = -(value >> 1)
		} else {
			value >>= 1
		}
		out = append(out, value)
		value, shift = 0, 0
	}
	return out
}

package bind

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ownTTL is a value of a zone's records with a TTL of its own behind it: "10.0.0.1 ; ttl 60".
var ownTTL = regexp.MustCompile(`^(.*\S) +; *ttl ([0-9]{1,10})$`)

// cutTTL returns the data of a value and the TTL of its own; InheritTTL where it has the zone's. Of a text it stands behind quotes: it would be part of
// the text otherwise.
func cutTTL(rrType, value string) (data string, ttl int64) {
	found := ownTTL.FindStringSubmatch(value)
	if found == nil || isText(strings.ToUpper(rrType)) && (!strings.HasPrefix(value, `"`) || !strings.HasSuffix(found[1], `"`)) {
		return value, InheritTTL
	}
	ttl, err := strconv.ParseInt(found[2], 10, 64)
	if err != nil {
		return value, InheritTTL
	}
	return found[1], ttl
}

// withTTL returns canonical data with a TTL of its own behind it, as cutTTL takes it apart.
func withTTL(rrType, data string, ttl int64) string {
	if isText(rrType) && !strings.HasPrefix(data, `"`) {
		data = quoteText(data)
	}
	return fmt.Sprintf("%s ; ttl %d", data, ttl)
}

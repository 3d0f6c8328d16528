package haproxy

import (
	"context"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
)

// stat is a line of `show stat`: a frontend, a backend or a server. Fields are by HAProxy's names.
type stat map[string]string

func (s stat) numberOf(field string) int64 {
	n, _ := strconv.ParseInt(s[field], 10, 64) // an empty field is a zero in HAProxy's table
	return n
}

// statTable is `show stat`: proxy name, then "FRONTEND", "BACKEND" or a server's name.
type statTable map[string]map[string]stat

func (r runtimeAPI) readStats(ctx context.Context) (statTable, error) {
	out, err := r.askCommand(ctx, "show stat")
	if err != nil {
		return nil, err
	}
	return parseStats(out)
}

func parseStats(out string) (statTable, error) {
	reader := csv.NewReader(strings.NewReader(strings.TrimPrefix(strings.TrimSpace(out), "# ")))
	reader.FieldsPerRecord = -1
	rows, err := reader.ReadAll()
	if err != nil || len(rows) == 0 || len(rows[0]) < 2 || rows[0][0] != "pxname" {
		return nil, fmt.Errorf("HAProxy's statistics are not the table they should be: %.80q", out)
	}
	table := statTable{}
	for _, row := range rows[1:] {
		s := stat{}
		for i, name := range rows[0] {
			if i < len(row) && name != "" {
				s[name] = row[i]
			}
		}
		if table[s["pxname"]] == nil {
			table[s["pxname"]] = map[string]stat{}
		}
		table[s["pxname"]][s["svname"]] = s
	}
	return table, nil
}

package keys

import (
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

var roleNames = map[string]exchange.Role{
	"requester": exchange.Requester, "executor": exchange.ExecutorRole, "observer": exchange.Observer, "operator": exchange.Operator,
}

// RoleNames returns the names of all roles, sorted.
func RoleNames() []string { return slices.Sorted(maps.Keys(roleNames)) }

// Roles parses names of roles. An unknown name is an error, because the actor would have the wrong
// permissions without it.
func Roles(names []string) (exchange.Role, error) {
	var roles exchange.Role
	for _, name := range names {
		r, ok := roleNames[name]
		if !ok {
			return 0, mess.Errorf(mess.Invalid, "roles: unknown role %.40q; known roles: %s", name, strings.Join(RoleNames(), ", "))
		}
		roles |= r
	}
	return roles, nil
}

// Names returns the names of roles, sorted.
func Names(roles exchange.Role) []string {
	return slices.DeleteFunc(RoleNames(), func(name string) bool { return roles&roleNames[name] == 0 })
}

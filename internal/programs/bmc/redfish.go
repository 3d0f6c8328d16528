package bmc

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// object is a JSON object.
type object = map[string]any

// service serves systems by Redfish (DMTF DSP0266).
type service struct {
	uuid     string
	systems  []*System
	access   *access
	sessions sessions
	log      *slog.Logger
}

// largestBody is the most that a client may send.
const largestBody = 64 << 10

// Root of the service.
const root = "/redfish/v1"

// newRedfish returns the handler of a service with these systems.
func newRedfish(uuid string, systems []*System, a *access, log *slog.Logger) http.Handler {
	r := &service{uuid: uuid, systems: systems, access: a, log: log}
	mux := http.NewServeMux()
	r.addService(mux)
	r.addSystems(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if path := strings.TrimRight(req.URL.Path, "/"); path != "" {
			req.URL.Path = path
		}
		req.Body = http.MaxBytesReader(w, req.Body, largestBody)
		w.Header().Set("OData-Version", "4.0")
		w.Header().Set("Cache-Control", "no-cache")
		if !r.isOpen(req) && !r.isAllowed(req) {
			w.Header().Set("WWW-Authenticate", `Basic realm="virtcluster"`)
			answerError(w, http.StatusUnauthorized, "NoValidSession", "user and password, or the token of a session, are wrong or missing")
			return
		}
		if _, pattern := mux.Handler(req); pattern == "" {
			r.refuseRequest(mux, w, req)
			return
		}
		mux.ServeHTTP(w, req)
	})
}

// isOpen says whether a request needs no user: those that DSP0266 lists in 13.3.1, and the one that opens a session.
func (r *service) isOpen(req *http.Request) bool {
	if req.Method == http.MethodPost {
		return req.URL.Path == root+"/SessionService/Sessions" || req.URL.Path == root+"/SessionService/Sessions/Members"
	}
	return (req.Method == http.MethodGet || req.Method == http.MethodHead) && slices.Contains([]string{"/redfish", root, root + "/odata", root + "/$metadata"}, req.URL.Path)
}

// isAllowed says whether a request has the token of a session, or user and password.
func (r *service) isAllowed(req *http.Request) bool {
	if token := req.Header.Get("X-Auth-Token"); token != "" {
		return r.sessions.useSession(token) != nil
	}
	user, password, ok := req.BasicAuth()
	return ok && r.access.Allow(req.Context(), req.RemoteAddr, user, password)
}

// refuseRequest answers what has no handler: a method that the resource does not know, or a resource that is not there.
func (r *service) refuseRequest(mux *http.ServeMux, w http.ResponseWriter, req *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		other := *req
		other.Method = method
		if _, pattern := mux.Handler(&other); pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		answerError(w, http.StatusNotFound, "ResourceMissingAtURI", "there is nothing at "+req.URL.Path)
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	answerError(w, http.StatusMethodNotAllowed, "OperationNotAllowed", fmt.Sprintf("%s is not allowed at %s", req.Method, req.URL.Path))
}

// answerError answers with an error; id is one of the message registry Base, message says it in whole.
func answerError(w http.ResponseWriter, status int, id, message string) {
	severity, resolution := "Critical", "None."
	if status < 500 {
		severity, resolution = "Warning", "Change the request and send it again."
	}
	answerDocument(w, status, object{"error": object{
		"code": "Base.1.8." + id, "message": message,
		"@Message.ExtendedInfo": []object{{
			"@odata.type": "#Message.v1_1_1.Message", "MessageId": "Base.1.8." + id, "Message": message, "Severity": severity, "Resolution": resolution,
		}},
	}})
}

// failWith answers with an error of a System.
func failWith(w http.ResponseWriter, err error) {
	if input, ok := errors.AsType[*InputError](err); ok {
		answerError(w, http.StatusBadRequest, "PropertyValueNotInList", input.Property+": "+input.Why)
		return
	}
	switch {
	case errors.Is(err, ErrOff), errors.Is(err, ErrOn):
		answerError(w, http.StatusConflict, "ActionNotSupported", err.Error())
	case hypervisor.IsNotFound(err):
		answerError(w, http.StatusNotFound, "ResourceMissingAtURI", err.Error())
	default:
		answerError(w, http.StatusServiceUnavailable, "GeneralError", err.Error())
	}
}

// answerDocument answers with a document.
func answerDocument(w http.ResponseWriter, status int, doc any) {
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a client that went away is its own affair
}

// tagOf is a document's ETag: a digest of all of it, and after a dot one of what clients may change (settingsOf).
func tagOf(doc object) string {
	return `"` + digestOf(doc) + settingsOf(doc)
}

// settingsOf is how the tags of all documents end that have the same settings. A change is compared by these alone: a machine that was
// switched since a client read it has another document, and nobody's setting is lost.
func settingsOf(doc object) string {
	return "." + digestOf(object{"Boot": doc["Boot"], "IndicatorLED": doc["IndicatorLED"]}) + `"`
}

// digestOf tells a document from others.
func digestOf(doc object) string {
	text, err := json.Marshal(doc)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// replyTagged answers a GET with a document and its ETag, or with 304 where the client has it.
func replyTagged(w http.ResponseWriter, req *http.Request, doc object) {
	tag := tagOf(doc)
	w.Header().Set("ETag", tag)
	if matchesTag(req.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	doc["@odata.etag"] = tag
	answerDocument(w, http.StatusOK, doc)
}

// matchesTag says whether one of a list of tags, weak or strong, ends as is said. "*" does.
func matchesTag(list, end string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.HasSuffix(one, end) {
			return true
		}
	}
	return false
}

// isStale answers with 412 where a client changes other settings than those that are there.
func isStale(w http.ResponseWriter, req *http.Request, doc object) bool {
	if want := req.Header.Get("If-Match"); want != "" && !matchesTag(want, settingsOf(doc)) {
		answerError(w, http.StatusPreconditionFailed, "PreconditionFailed", "the resource has changed since it was read: read it again")
		return true
	}
	return false
}

// readBody reads a JSON object; an empty body is an empty one.
func readBody(w http.ResponseWriter, req *http.Request, into any) bool {
	text, err := io.ReadAll(req.Body)
	if err == nil && len(strings.TrimSpace(string(text))) > 0 {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		answerError(w, http.StatusBadRequest, "MalformedJSON", "the body is no JSON object as it is expected here: "+err.Error())
		return false
	}
	return true
}

// linkTo is a reference to a resource.
func linkTo(path string) object { return object{"@odata.id": path} }

// linksTo are references to resources.
func linksTo(paths ...string) []object {
	all := make([]object, 0, len(paths))
	for _, p := range paths {
		all = append(all, linkTo(p))
	}
	return all
}

// newResource is a document with what every one has: kind such as "Manager.v1_5_0.Manager".
func newResource(path, kind, id, name string, rest object) object {
	doc := object{"@odata.id": path, "@odata.type": "#" + kind, "Id": id, "Name": name}
	for key, value := range rest {
		doc[key] = value
	}
	return doc
}

// newCollection is a document that lists others; kind such as "Manager".
func newCollection(path, kind, name string, members ...string) object {
	return object{
		"@odata.id": path, "@odata.type": "#" + kind + "Collection." + kind + "Collection", "Name": name,
		"Members@odata.count": len(members), "Members": linksTo(members...),
	}
}

// healthy is the status of what is there and works.
var healthy = object{"State": "Enabled", "Health": "OK"}

// addService adds what a service has beside its systems.
func (r *service) addService(mux *http.ServeMux) {
	static := func(path string, doc object) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, req *http.Request) {
			fresh := object{}
			for key, value := range doc {
				fresh[key] = value
			}
			replyTagged(w, req, fresh)
		})
	}
	services := []string{"Systems", "Managers", "Chassis", "SessionService", "TaskService", "UpdateService"}
	doc := object{
		"RedfishVersion": "1.8.0", "UUID": r.uuid, "Vendor": "virtcluster", "Product": "virtcluster BMC",
		"Links":                     object{"Sessions": linkTo(root + "/SessionService/Sessions")},
		"ProtocolFeaturesSupported": object{"FilterQuery": false, "SelectQuery": false, "OnlyMemberQuery": false, "ExcerptQuery": false},
	}
	var odata []object
	for _, s := range services {
		doc[s] = linkTo(root + "/" + s)
		odata = append(odata, object{"name": s, "kind": "Singleton", "url": root + "/" + s})
	}
	delete(doc, "TaskService")
	doc["Tasks"] = linkTo(root + "/TaskService")
	mux.HandleFunc("GET /redfish", func(w http.ResponseWriter, _ *http.Request) {
		answerDocument(w, http.StatusOK, object{"v1": root + "/"})
	})
	static(root, newResource(root+"/", "ServiceRoot.v1_5_0.ServiceRoot", "RootService", "Root Service", doc))
	mux.HandleFunc("GET "+root+"/odata", func(w http.ResponseWriter, _ *http.Request) {
		answerDocument(w, http.StatusOK, object{"@odata.context": root + "/$metadata", "value": odata})
	})
	mux.HandleFunc("GET "+root+"/$metadata", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		_, _ = io.WriteString(w, metadata)
	})
	static(root+"/SessionService", newResource(root+"/SessionService", "SessionService.v1_1_6.SessionService", "SessionService", "Session Service", object{
		"ServiceEnabled": true, "SessionTimeout": int(sessionTimeout.Seconds()), "Status": healthy, "Sessions": linkTo(root + "/SessionService/Sessions"),
	}))
	static(root+"/TaskService", newResource(root+"/TaskService", "TaskService.v1_1_4.TaskService", "TaskService", "Task Service", object{
		"ServiceEnabled": true, "Status": healthy, "Tasks": linkTo(root + "/TaskService/Tasks"),
	}))
	static(root+"/TaskService/Tasks", newCollection(root+"/TaskService/Tasks", "Task", "Tasks"))
	static(root+"/UpdateService", newResource(root+"/UpdateService", "UpdateService.v1_8_0.UpdateService", "UpdateService", "Update Service", object{
		"ServiceEnabled": false, "Status": object{"State": "Disabled"}, "FirmwareInventory": linkTo(root + "/UpdateService/FirmwareInventory"),
	}))
	static(root+"/UpdateService/FirmwareInventory", newCollection(root+"/UpdateService/FirmwareInventory", "SoftwareInventory", "Firmware Inventory"))
	r.addSessions(mux)
}

// metadata is what the service says of its schemas: they are DMTF's.
const metadata = `<?xml version="1.0" encoding="UTF-8"?>
<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">
  <edmx:Reference Uri="http://redfish.dmtf.org/schemas/v1/ServiceRoot_v1.xml">
    <edmx:Include Namespace="ServiceRoot"/>
    <edmx:Include Namespace="ServiceRoot.v1_5_0"/>
  </edmx:Reference>
  <edmx:DataServices>
    <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Service">
      <EntityContainer Name="Service" Extends="ServiceRoot.v1_5_0.ServiceContainer"/>
    </Schema>
  </edmx:DataServices>
</edmx:Edmx>
`

// addSessions adds the sessions: who opens one gets its token.
func (r *service) addSessions(mux *http.ServeMux) {
	const path = root + "/SessionService/Sessions"
	describe := func(s *session) object {
		return newResource(path+"/"+s.id, "Session.v1_2_1.Session", s.id, "Session of "+s.user, object{"UserName": s.user})
	}
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, req *http.Request) {
		var members []string
		for _, s := range r.sessions.listSessions() {
			members = append(members, path+"/"+s.id)
		}
		replyTagged(w, req, newCollection(path, "Session", "Sessions", members...))
	})
	open := func(w http.ResponseWriter, req *http.Request) {
		var body struct{ UserName, Password string }
		if !readBody(w, req, &body) {
			return
		}
		if !r.access.Allow(req.Context(), req.RemoteAddr, body.UserName, body.Password) {
			answerError(w, http.StatusUnauthorized, "ResourceAtUriUnauthorized", "user or password are wrong")
			return
		}
		s := r.sessions.openSession(body.UserName)
		w.Header().Set("X-Auth-Token", s.token)
		w.Header().Set("Location", path+"/"+s.id)
		answerDocument(w, http.StatusCreated, describe(s))
	}
	mux.HandleFunc("POST "+path, open)
	mux.HandleFunc("POST "+path+"/Members", open)
	mux.HandleFunc("GET "+path+"/{session}", func(w http.ResponseWriter, req *http.Request) {
		for _, s := range r.sessions.listSessions() {
			if s.id == req.PathValue("session") {
				replyTagged(w, req, describe(s))
				return
			}
		}
		answerError(w, http.StatusNotFound, "ResourceMissingAtURI", "there is no such session")
	})
	mux.HandleFunc("DELETE "+path+"/{session}", func(w http.ResponseWriter, req *http.Request) {
		if !r.sessions.endSession(req.PathValue("session")) {
			answerError(w, http.StatusNotFound, "ResourceMissingAtURI", "there is no such session")
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

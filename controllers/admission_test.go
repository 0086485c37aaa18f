package controllers_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

// admission is a spec and the API server's response to it.
type admission struct {
	kind, spec string
	// refused is a part of the expected error message, or "" if the API server must accept the spec.
	refused string
}

// The messages of the CEL rules.
const (
	originRule      = "an origin must consist of http:// or https://"
	maxAgeRule      = "maxAge must be a duration between 0s and 24h"
	staleRule       = "staleWhileRevalidate must be a duration between 0s and 168h"
	retryRule       = "retryAfter must be a duration between 1s and 24h"
	externalRule    = "externalURL must consist of http or https, a host, and optionally a port (1 to 65535) and a path"
	secretRule      = "set secretName (a Secret that the operator writes) or existingSecret (a Secret that it reads), not both"
	rotatedRule     = "the operator does not rotate the value in existingSecret"
	filtersRule     = "filters is allowed only if class is ReadOnly"
	expiresRule     = "expiresAfter must be a duration from 1m to 999999h"
	longerRule      = "expiresAfter must be longer than rotation.every"
	everyRule       = "every must be a duration of at least 1m"
	overlapRule     = "overlap must be a duration, such as 1h"
	shorterRule     = "overlap must be shorter than every"
	namespaceRule   = "namespace must start with a lowercase letter"
	reservedRule    = "the namespace ugc is reserved"
	keyRule         = "key must be 1 to 64 lowercase letters"
	whichRule       = "set items, selector, or both"
	imageRule       = "imageURL must be an absolute http or https URL"
	clickRule       = "clickThroughURL must be an absolute http or https URL"
	propertyRefRule = "propertyRef cannot change"
	secretNameRule  = "secretName must be the name of a Secret"
	existingRule    = "name must be the name of a Secret"
	displayRule     = "displayName must not be blank"
	blankNameRule   = "name must not be blank"
	blankQueryRule  = "the query must not be blank"
	allowRule       = "allow is permitted only if class is ReadWrite"
	exportRule      = "Export in allow needs ReadPrivate too"
	limitsRule      = "classes and filters limit AccessTokens"
	readersRule     = "filters permits only ReadOnly tokens"
	selectRule      = "set names or matchLabels, and not both"
	repositoryRule  = "repository must be the https URL"
	branchRule      = "branch must be the name of a branch"
	reasonRule      = "rejectionReason Required needs a history"
	hookURLRule     = "url must be an absolute http or https URL"
	hookHomeRule    = "a Webhook must be in the namespace of its Property"
	hookSelectRule  = "set either filterRef or query"
	delayRule       = "maxDelay must be a duration between 0s and 1m"
	pathRule        = "path must be a directory in the repository"
)

const unitSpec = "name: Sandals, imageURL: 'https://cdn.example/s.png', clickThroughURL: 'https://shop.example/s'"

const hookSpec = "url: 'https://hooks.example/vitrine', query: 'approval_status:pen'"

var admissions = []admission{
	{v1alpha1.PropertyKind, `displayName: Shop`, ""},
	{v1alpha1.PropertyKind, `displayName: ""`, "spec.displayName"},
	{v1alpha1.PropertyKind, `displayName: "  "`, displayRule},
	{v1alpha1.PropertyKind, `displayName: Shop, cache: {maxAge: 99999999999h, staleWhileRevalidate: 5m}`, maxAgeRule},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, secretName: a-1.b`, ""},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, secretName: ../x`, secretNameRule},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, existingSecret: {name: A, key: token}`, existingRule},
	{v1alpha1.ContentFilterKind, `query: "  "`, blankQueryRule},
	{v1alpha1.ContentFilterKind, `query: love, name: "  "`, blankNameRule},
	{v1alpha1.TagKind, `namespace: vibe, key: k, selector: {query: "\t "}`, blankQueryRule},
	{v1alpha1.ActivateUnitKind, unitSpec + `, selector: {query: " "}`, blankQueryRule},
	{v1alpha1.ActivateUnitKind, `name: " ", imageURL: 'https://cdn.example/s.png', clickThroughURL: 'https://shop.example/s'`, blankNameRule},
	{v1alpha1.WebhookKind, hookSpec + `, events: [Left], payload: PublicItem, batch: {maxItems: 500, maxDelay: 500ms}`, ""},
	{v1alpha1.WebhookKind, hookSpec + `, rotation: {every: 720h, overlap: 24h}`, ""},
	{v1alpha1.WebhookKind, hookSpec + `, events: [Removed]`, "spec.events"},
	{v1alpha1.WebhookKind, hookSpec + `, batch: {maxItems: 501}`, "spec.batch.maxItems"},
	{v1alpha1.WebhookKind, hookSpec + `, batch: {maxDelay: 61s}`, delayRule},
	{v1alpha1.WebhookKind, hookSpec + `, filterRef: {name: wall}`, hookSelectRule},
	{v1alpha1.WebhookKind, `url: 'https://hooks.example/'`, hookSelectRule},
	{v1alpha1.WebhookKind, `url: 'https://hooks.example/', query: "  "`, blankQueryRule},
	{v1alpha1.WebhookKind, `url: 'https://user:password@hooks.example/', query: '*:*'`, hookURLRule},
	{v1alpha1.WebhookKind, `url: 'ftp://hooks.example/', query: '*:*'`, hookURLRule},
	{v1alpha1.WebhookKind, `url: 'https://hooks.example:99999/', query: '*:*'`, hookURLRule},
	{v1alpha1.WebhookKind, `url: 'https://hooks.example:65535/', query: '*:*'`, ""},
	{v1alpha1.WebhookKind, hookSpec + `, propertyRef: {name: default, namespace: other}`, hookHomeRule},
	{v1alpha1.WebhookKind, hookSpec + `, existingSecret: {name: A, key: secret}`, existingRule},
	{v1alpha1.WebhookKind, hookSpec + `, existingSecret: {name: mine, key: secret}, rotation: {every: 720h, overlap: 1h}`, rotatedRule},
	{v1alpha1.WebhookKind, hookSpec + `, rotation: {every: 30s, overlap: 1s}`, everyRule},
	{v1alpha1.WebhookKind, hookSpec + `, rotation: {every: 720h, overlap: soon}`, overlapRule},
	{v1alpha1.WebhookKind, hookSpec + `, rotation: {every: 1h, overlap: 2h}`, shorterRule},
	{v1alpha1.PropertyKind, `platformPageID: 4711`, "spec.displayName: Required value"},
	{v1alpha1.PropertyKind, `displayName: ` + strings.Repeat("x", 201), "spec.displayName: Too long"},
	{v1alpha1.PropertyKind, `displayName: Shop, platformPageID: 0`, "spec.platformPageID"},
	{v1alpha1.PropertyKind, `displayName: Shop, history: {entries: 0}`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, history: {}`, "spec.history.entries: Required value"},
	{v1alpha1.PropertyKind, `displayName: Shop, history: {entries: 201}`, "spec.history.entries"},
	{v1alpha1.PropertyKind, `displayName: Shop, moderation: {rejectionReason: Required}`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, moderation: {rejectionReason: Required}, history: {entries: 1}`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, moderation: {rejectionReason: Optional}, history: {entries: 0}`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, moderation: {}, history: {entries: 0}`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, moderation: {rejectionReason: Required}, history: {entries: 0}`, reasonRule},
	{v1alpha1.PropertyKind, `displayName: Shop, moderation: {rejectionReason: Never}`, "spec.moderation.rejectionReason"},
	{v1alpha1.PropertyKind, `displayName: Shop, colour: red`, `unknown field "spec.colour"`},
	{v1alpha1.PropertyKind, `displayName: Shop, allowedOrigins: ['https://www.shop.example', 'https://*.shop.example', 'http://localhost:3000']`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, allowedOrigins: ['https://a.example', 'https://a.example']`, "Duplicate value"},
	{v1alpha1.PropertyKind, `displayName: Shop, allowedOrigins: ['www.shop.example']`, originRule},
	{v1alpha1.PropertyKind, `displayName: Shop, allowedOrigins: ['https://www.shop.example:65535']`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, allowedOrigins: ['https://www.shop.example:99999']`, originRule},
	{v1alpha1.PropertyKind, `displayName: Shop, allowedOrigins: ['https://www.shop.example/']`, originRule},
	{v1alpha1.PropertyKind, `displayName: Shop, allowedOrigins: ['https://WWW.shop.example']`, originRule},
	{v1alpha1.PropertyKind, `displayName: Shop, allowedOrigins: ['https://a.*.shop.example']`, originRule},
	{v1alpha1.PropertyKind, `displayName: Shop, allowedOrigins: ['*']`, originRule},
	{v1alpha1.PropertyKind, `displayName: Shop, cache: {maxAge: 0s, staleWhileRevalidate: 168h}`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, cache: {maxAge: 24h, staleWhileRevalidate: 1m30s}`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, cache: {maxAge: 25h, staleWhileRevalidate: 5m}`, maxAgeRule},
	{v1alpha1.PropertyKind, `displayName: Shop, cache: {maxAge: 60, staleWhileRevalidate: 5m}`, "spec.cache.maxAge"},
	{v1alpha1.PropertyKind, `displayName: Shop, cache: {maxAge: '60', staleWhileRevalidate: 5m}`, maxAgeRule},
	{v1alpha1.PropertyKind, `displayName: Shop, cache: {maxAge: 60s, staleWhileRevalidate: -5m}`, staleRule},
	{v1alpha1.PropertyKind, `displayName: Shop, cache: {maxAge: 60s, staleWhileRevalidate: 169h}`, staleRule},
	{v1alpha1.PropertyKind, `displayName: Shop, maintenance: {retryAfter: 120s, message: Back soon}`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, maintenance: {retryAfter: 500ms}`, retryRule},
	{v1alpha1.PropertyKind, `displayName: Shop, maintenance: {retryAfter: soon}`, retryRule},
	{v1alpha1.PropertyKind, `displayName: Shop, rateLimit: {requestsPerSecond: 50, burst: 100}`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, rateLimit: {requestsPerSecond: 0, burst: 100}`, "spec.rateLimit.requestsPerSecond"},
	{v1alpha1.PropertyKind, `displayName: Shop, source: {repository: 'https://github.com/shop/content'}`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, source: {repository: 'https://git.shop.example:8443/a/b/c.d', host: GitLab, branch: release/1.x, path: content/shop}`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, source: {repository: 'http://github.com/shop/content'}`, repositoryRule},
	{v1alpha1.PropertyKind, `displayName: Shop, source: {repository: 'https://me:secret@github.com/shop/content'}`, repositoryRule},
	{v1alpha1.PropertyKind, `displayName: Shop, source: {repository: 'https://github.com/shop/content.git'}`, repositoryRule},
	{v1alpha1.PropertyKind, `displayName: Shop, source: {repository: 'https://github.com/shop/../content'}`, repositoryRule},
	{v1alpha1.PropertyKind, `displayName: Shop, source: {repository: 'https://github.com/shop/content', host: Bitbucket}`, "spec.source.host"},
	{v1alpha1.PropertyKind, `displayName: Shop, source: {repository: 'https://github.com/shop/content', branch: 'a..b'}`, branchRule},
	{v1alpha1.PropertyKind, `displayName: Shop, source: {repository: 'https://github.com/shop/content', branch: 'a b'}`, branchRule},
	{v1alpha1.PropertyKind, `displayName: Shop, source: {repository: 'https://github.com/shop/content', path: /content}`, pathRule},
	{v1alpha1.PropertyKind, `displayName: Shop, source: {repository: 'https://github.com/shop/content', path: content/../other}`, pathRule},
	{v1alpha1.PropertyKind, `displayName: Shop, readOnlyQuery: 'approval_status:app'`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, readOnlyQuery: ''`, "spec.readOnlyQuery"},
	{v1alpha1.PropertyKind, `displayName: Shop, readOnlyQuery: ' '`, blankQueryRule},
	{v1alpha1.PropertyKind, `displayName: Shop, allowFrom: [{namespaces: {names: [fair]}, kinds: [AccessToken, Tag], classes: [ReadOnly, ReadWrite]}]`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, allowFrom: [{namespaces: {matchLabels: {team: fair}}, kinds: [AccessToken], filters: [wall]}]`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, allowFrom: []`, "spec.allowFrom"},
	{v1alpha1.PropertyKind, `displayName: Shop, allowFrom: [{namespaces: {names: [Fair]}, kinds: [Tag]}]`, "spec.allowFrom[0].namespaces.names[0]"},
	{v1alpha1.PropertyKind, `displayName: Shop, allowFrom: [{namespaces: {names: [fair]}, kinds: [Property]}]`, "spec.allowFrom[0].kinds[0]"},
	{v1alpha1.PropertyKind, `displayName: Shop, allowFrom: [{namespaces: {}, kinds: [Tag]}]`, selectRule},
	{v1alpha1.PropertyKind, `displayName: Shop, allowFrom: [{namespaces: {names: [fair], matchLabels: {team: fair}}, kinds: [Tag]}]`, selectRule},
	{v1alpha1.PropertyKind, `displayName: Shop, allowFrom: [{namespaces: {names: [fair]}, kinds: [Tag], classes: [ReadOnly]}]`, limitsRule},
	{v1alpha1.PropertyKind, `displayName: Shop, allowFrom: [{namespaces: {names: [fair]}, kinds: [AccessToken], classes: [ReadWrite], filters: [wall]}]`, readersRule},
	{v1alpha1.PropertyKind, `displayName: Shop, externalURL: 'https://content.shop.example/base'`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, externalURL: 'http://localhost:8080'`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, externalURL: 'https://content.shop.example:65535'`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, externalURL: 'https://content.shop.example:0'`, externalRule},
	{v1alpha1.PropertyKind, `displayName: Shop, externalURL: 'https://content.shop.example:65536'`, externalRule},
	{v1alpha1.PropertyKind, `displayName: Shop, externalURL: content.shop.example`, externalRule},
	{v1alpha1.PropertyKind, `displayName: Shop, externalURL: /base`, externalRule},
	{v1alpha1.PropertyKind, `displayName: Shop, externalURL: 'ftp://content.shop.example'`, externalRule},
	{v1alpha1.PropertyKind, `displayName: Shop, externalURL: 'https://content.shop.example?a=b'`, externalRule},
	{v1alpha1.PropertyKind, `displayName: Shop, externalURL: 'https://'`, externalRule},
	{v1alpha1.PropertyKind, `displayName: Shop, externalURL: 'https://[2001:db8::1]:8443/v1.2/'`, ""},
	{v1alpha1.PropertyKind, `displayName: Shop, externalURL: 'https://user:secret@content.shop.example'`, externalRule},
	{v1alpha1.PropertyKind, `displayName: Shop, externalURL: 'https://content.shop.example/"><script>'`, externalRule},
	{v1alpha1.PropertyKind, `displayName: Shop, externalURL: 'https://content.shop.example/../..'`, externalRule},
	{v1alpha1.PropertyKind, `displayName: Shop, externalURL: 'https://content.shop.example/a b'`, externalRule},

	{v1alpha1.AccessTokenKind, `class: ReadOnly`, ""},
	{v1alpha1.AccessTokenKind, `class: Admin`, "spec.class: Unsupported value"},
	{v1alpha1.AccessTokenKind, `secretName: s`, "spec.class: Required value"},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, secretName: s`, ""},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, existingSecret: {name: s, key: token}`, ""},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, existingSecret: {name: s}`, "spec.existingSecret.key: Required value"},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, secretName: s, existingSecret: {name: s, key: token}`, secretRule},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, existingSecret: {name: s, key: token}, rotation: {every: 168h, overlap: 1h}`, rotatedRule},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, filters: [summer-wall]`, ""},
	{v1alpha1.AccessTokenKind, `class: ReadWrite, filters: [summer-wall]`, filtersRule},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, filters: []`, "spec.filters"},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, query: 'approval_status:app', filters: [summer-wall]`, ""},
	{v1alpha1.AccessTokenKind, `class: ReadWrite, query: '*:*', allow: [AddItems, Moderate, Tag, ManageFilters, ReadPrivate, Export, Erase]`, ""},
	{v1alpha1.AccessTokenKind, `class: ReadWrite, allow: [AddItems, Moderate, Tag, ManageFilters, ReadPrivate, Export, Import, Erase]`, ""},
	{v1alpha1.AccessTokenKind, `class: ReadWrite, query: '*:*', allow: [Import]`, "a token with a query cannot import"},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, query: ''`, "spec.query"},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, query: "\t "`, blankQueryRule},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, query: ` + strings.Repeat("x", 16385), "spec.query: Too long"},
	{v1alpha1.AccessTokenKind, `class: ReadWrite, allow: []`, "spec.allow"},
	{v1alpha1.AccessTokenKind, `class: ReadWrite, allow: [Delete]`, "spec.allow[0]: Unsupported value"},
	{v1alpha1.AccessTokenKind, `class: ReadWrite, allow: [Tag, Tag]`, "Duplicate value"},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, allow: [Tag]`, allowRule},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, subjects: [{group: brand-moderators}, {user: jo@shop.example}]`, ""},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, subjects: [{group: brand-moderators, user: jo@shop.example}]`, "set either user or group"},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, subjects: [{}]`, "set either user or group"},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, subjects: []`, "spec.subjects"},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, subjects: [{user: ""}]`, "spec.subjects[0].user"},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, filters: [wall], subjects: [{user: jo}]`, "subjects is not permitted with filters"},
	{v1alpha1.AccessTokenKind, `class: ReadWrite, allow: [Export]`, exportRule},
	{v1alpha1.AccessTokenKind, `class: ReadWrite, allow: [Export, ReadPrivate]`, ""},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, expiresAfter: 1m`, ""},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, expiresAfter: 59s`, expiresRule},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, expiresAfter: 30d`, expiresRule},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, expiresAfter: 999999h`, ""},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, expiresAfter: 999999h1m`, expiresRule},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, expiresAfter: 2540400h`, expiresRule},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, rotation: {every: 168h, overlap: 1h}`, ""},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, rotation: {every: 168h, overlap: 0s}`, ""},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, rotation: {every: 30s, overlap: 1s}`, everyRule},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, rotation: {every: weekly, overlap: 1s}`, everyRule},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, rotation: {every: 168h, overlap: -1h}`, overlapRule},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, rotation: {every: 1h, overlap: 1h}`, shorterRule},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, rotation: {every: 1h, overlap: 90m}`, shorterRule},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, expiresAfter: 169h, rotation: {every: 168h, overlap: 1h}`, ""},
	{v1alpha1.AccessTokenKind, `class: ReadOnly, expiresAfter: 168h, rotation: {every: 168h, overlap: 1h}`, longerRule},

	{v1alpha1.ContentFilterKind, `query: 'approval_status:app'`, ""},
	{v1alpha1.ContentFilterKind, `query: 'approval_status:(app'`, ""}, // the reconciler reports the syntax error
	{v1alpha1.ContentFilterKind, `query: ''`, "spec.query"},
	{v1alpha1.ContentFilterKind, `sortBy: 'created_on:desc'`, "spec.query: Required value"},
	{v1alpha1.ContentFilterKind, `query: 'approval_status:app', readAccess: Public`, "spec.readAccess: Unsupported value"},
	{v1alpha1.ContentFilterKind, `query: 'approval_status:app', adopt: {filterID: 0}`, "spec.adopt.filterID"},
	{v1alpha1.ContentFilterKind, `query: 'approval_status:app', favoriteTag: {namespace: marketer_tags}`, "spec.favoriteTag.key: Required value"},

	{v1alpha1.TagKind, `namespace: marketer_tags, key: summer, items: [1]`, ""},
	{v1alpha1.TagKind, `namespace: marketer_tags, key: summer, selector: {query: 'text:beach'}`, ""},
	{v1alpha1.TagKind, `namespace: marketer_tags, key: summer, items: [1], selector: {query: 'text:beach'}`, ""},
	{v1alpha1.TagKind, `namespace: marketer_tags, key: summer`, whichRule},
	{v1alpha1.TagKind, `namespace: marketer_tags, key: summer, items: []`, whichRule},
	{v1alpha1.TagKind, `namespace: marketer_tags, key: summer, items: [0]`, "spec.items[0]"},
	{v1alpha1.TagKind, `namespace: marketer_tags, key: summer, items: [1, 1]`, "Duplicate value"},
	{v1alpha1.TagKind, `namespace: Marketer, key: summer, items: [1]`, namespaceRule},
	{v1alpha1.TagKind, `namespace: 1st, key: summer, items: [1]`, namespaceRule},
	{v1alpha1.TagKind, `namespace: a-b_c2, key: summer, items: [1]`, ""},
	{v1alpha1.TagKind, `namespace: ugc, key: summer, items: [1]`, reservedRule},
	{v1alpha1.TagKind, `namespace: marketer_tags, key: Summer, items: [1]`, keyRule},
	{v1alpha1.TagKind, `namespace: marketer_tags, key: '', items: [1]`, keyRule},

	{v1alpha1.ActivateUnitKind, unitSpec, ""},
	{v1alpha1.ActivateUnitKind, unitSpec + `, catalogItem: {a: [1, {b: null}]}, catalogImageURLSrc: 7, default: true, archived: true`, ""},
	{v1alpha1.ActivateUnitKind, `name: Sandals, imageURL: 's.png', clickThroughURL: 'https://shop.example/s'`, imageRule},
	{v1alpha1.ActivateUnitKind, `name: Sandals, imageURL: 'data:image/png;base64,AA', clickThroughURL: 'https://shop.example/s'`, imageRule},
	{v1alpha1.ActivateUnitKind, `name: Sandals, imageURL: 'https://cdn.example/s.png', clickThroughURL: 'javascript:alert(1)'`, clickRule},
	{v1alpha1.ActivateUnitKind, `name: Sandals, imageURL: 'https://cdn.example/s.png'`, "spec.clickThroughURL: Required value"},
	{v1alpha1.ActivateUnitKind, unitSpec + `, activateUnitLibrary: 0`, "spec.activateUnitLibrary"},
}

// belonging maps each kind whose spec has a propertyRef to the rest of a valid spec.
var belonging = map[string]string{
	v1alpha1.AccessTokenKind:   `class: ReadOnly`,
	v1alpha1.ContentFilterKind: `query: 'approval_status:app'`,
	v1alpha1.TagKind:           `namespace: marketer_tags, key: summer, items: [1]`,
	v1alpha1.ActivateUnitKind:  unitSpec,
	v1alpha1.WebhookKind:       hookSpec,
}

var _ = Describe("Admission", Ordered, func() {
	var w *world
	BeforeAll(func(ctx context.Context) { w = newWorld(ctx) })

	object := func(kind, spec string) *unstructured.Unstructured {
		GinkgoHelper()
		text, err := yaml.YAMLToJSON([]byte("{kind: " + kind + ", apiVersion: " + v1alpha1.GroupVersion.String() + ", spec: {" + spec + "}}"))
		Expect(err).NotTo(HaveOccurred())
		u := &unstructured.Unstructured{}
		Expect(u.UnmarshalJSON(text)).To(Succeed())
		u.SetNamespace(w.namespace)
		u.SetName("it")
		return u
	}

	for _, a := range admissions {
		verb := "takes"
		if a.refused != "" {
			verb = "refuses"
		}
		It(verb+" "+a.kind+" {"+a.spec[:min(len(a.spec), 120)]+"}", func(ctx context.Context) {
			err := kube.Create(ctx, object(a.kind, a.spec), client.DryRunAll, client.FieldValidation("Strict"))
			if a.refused == "" {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(ContainSubstring(a.refused)))
			Expect(apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)).To(BeTrue(), "%v", err)
		})
	}

	for kind, rest := range belonging {
		It("lets the propertyRef of "+kind+" never change", func(ctx context.Context) {
			change := func(from, to, refused string) {
				GinkgoHelper()
				u := object(kind, from+rest)
				Expect(kube.Create(ctx, u)).To(Succeed())
				defer func() { Expect(kube.Delete(ctx, u)).To(Succeed()) }()
				next := object(kind, to+rest)
				next.SetResourceVersion(u.GetResourceVersion())
				err := kube.Update(ctx, next)
				if refused == "" {
					Expect(err).NotTo(HaveOccurred())
				} else {
					Expect(err).To(MatchError(ContainSubstring(refused)))
				}
			}
			change("", "propertyRef: {name: default}, ", "") // the name default is also the default, so the reference does not change
			change("propertyRef: {name: default}, ", "", "")
			change("propertyRef: {name: outlet}, ", "propertyRef: {name: outlet}, suspend: true, ", "")
			change("", "propertyRef: {name: outlet}, ", propertyRefRule)
			change("propertyRef: {name: outlet}, ", "", propertyRefRule)
			change("propertyRef: {name: outlet}, ", "propertyRef: {name: default}, ", propertyRefRule)
		})
	}

	It("has a test case for every rule in the CRDs", func() {
		refused := map[string]bool{}
		for _, a := range admissions {
			refused[a.kind+" "+a.refused] = true
		}
		files, err := filepath.Glob(crdDirectory + "/*.yaml")
		Expect(err).NotTo(HaveOccurred())
		rules := 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			crd := &apiextensionsv1.CustomResourceDefinition{}
			Expect(yaml.Unmarshal(text, crd)).To(Succeed())
			for _, message := range messages(crd.Spec.Versions[0].Schema.OpenAPIV3Schema) {
				rules++
				tested := strings.HasPrefix(message, propertyRefRule)
				for known := range refused {
					kind, part, _ := strings.Cut(known, " ")
					tested = tested || kind == crd.Spec.Names.Kind && part != "" && strings.HasPrefix(message, part)
				}
				Expect(tested).To(BeTrue(), "%s: nothing here is refused with %q", crd.Spec.Names.Kind, message)
			}
		}
		Expect(rules).To(BeNumerically(">", 20))
	})

	It("accepts every example of docs/kinds.md", func(ctx context.Context) {
		page, err := os.ReadFile("../docs/kinds.md")
		Expect(err).NotTo(HaveOccurred())
		kinds := map[string]bool{}
		for i, block := range strings.Split(string(page), "```yaml\n") {
			if i == 0 {
				continue
			}
			text, _, _ := strings.Cut(block, "```")
			example, err := yaml.YAMLToJSON([]byte(text))
			Expect(err).NotTo(HaveOccurred(), text)
			u := &unstructured.Unstructured{}
			Expect(u.UnmarshalJSON(example)).To(Succeed(), text)
			u.SetNamespace(w.namespace)
			Expect(kube.Create(ctx, u, client.DryRunAll, client.FieldValidation("Strict"))).To(Succeed(), text)
			kinds[u.GetKind()] = true
		}
		Expect(kinds).To(HaveLen(len(subjects)), "an example of each kind")
	})

	It("never changes what the user applied", func(ctx context.Context) {
		for kind, rest := range belonging {
			u := object(kind, rest)
			want := u.DeepCopy().Object["spec"]
			Expect(kube.Create(ctx, u, client.DryRunAll)).To(Succeed())
			Expect(u.Object["spec"]).To(Equal(want), "defaults of %s", kind)
			observed, _, err := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
			Expect(err).NotTo(HaveOccurred())
			Expect(observed).To(BeEquivalentTo(-1))
		}
	})
})

// messages returns the messages of all CEL rules in a schema.
func messages(s *apiextensionsv1.JSONSchemaProps) []string {
	var all []string
	for _, rule := range s.XValidations {
		all = append(all, rule.Message)
	}
	for _, p := range s.Properties {
		all = append(all, messages(&p)...)
	}
	if s.Items != nil && s.Items.Schema != nil {
		all = append(all, messages(s.Items.Schema)...)
	}
	return all
}

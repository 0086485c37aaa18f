{{/* Parts of the Deployment with console.oidc.issuerURL; without it, or without the console, they are empty. */}}

{{- define "vitrine.usesOIDC" -}}
{{- if and .Values.console.enabled .Values.console.oidc.issuerURL }}true{{ end -}}
{{- end -}}

{{- define "vitrine.oidcArgs" -}}
{{- if include "vitrine.usesOIDC" . -}}
{{- with .Values.console.oidc -}}
{{- if not .clientID }}
{{- fail "console.oidc.clientID: must be the ID of the client at the identity provider, because console.oidc.issuerURL is set" }}
{{- end }}
{{- if not .clientSecret.name }}
{{- fail "console.oidc.clientSecret.name: must name the Secret with the secret of the client, because console.oidc.issuerURL is set" }}
{{- end }}
{{- if not (or .redirectURL $.Values.server.externalURL) }}
{{- fail "console.oidc: needs server.externalURL or console.oidc.redirectURL, to which the identity provider returns people" }}
{{- end -}}
- {{ printf "--console-oidc-issuer-url=%s" .issuerURL | quote }}
- {{ printf "--console-oidc-client-id=%s" .clientID | quote }}
- --console-oidc-client-secret-file=/etc/vitrine/oidc/client-secret
{{- if .caSecret.name }}
- --console-oidc-ca-file=/etc/vitrine/oidc/ca.crt
{{- end }}
{{- with .redirectURL }}
- {{ printf "--console-oidc-redirect-url=%s" . | quote }}
{{- end }}
- {{ printf "--console-oidc-username-claim=%s" .usernameClaim | quote }}
- {{ printf "--console-oidc-groups-claim=%s" .groupsClaim | quote }}
- {{ printf "--console-oidc-scopes=%s" (join "," .scopes) | quote }}
- --console-oidc-session={{ .session }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* Sources of the volume with the secret of the client and the certificate authority. */}}
{{- define "vitrine.oidcSecrets" -}}
{{- if include "vitrine.usesOIDC" . -}}
{{- with .Values.console.oidc -}}
- secret:
    name: {{ .clientSecret.name | quote }}
    items:
      - {key: {{ .clientSecret.key | quote }}, path: client-secret}
{{- if .caSecret.name }}
- secret:
    name: {{ .caSecret.name | quote }}
    items:
      - {key: {{ .caSecret.key | quote }}, path: ca.crt}
{{- end }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* Parts of the Deployment with library: opensearch; with library: engine, they are empty. */}}

{{- define "vitrine.opensearchArgs" -}}
{{- if eq .Values.library "opensearch" -}}
{{- $name := include "vitrine.fullname" . -}}
{{- with .Values.opensearch -}}
- --library=opensearch
{{- if .credentialsSecret.name }}
- --opensearch-username-file=/etc/vitrine/opensearch/username
- --opensearch-password-file=/etc/vitrine/opensearch/password
{{- end }}
{{- if .caSecret.name }}
- --opensearch-ca-file=/etc/vitrine/opensearch/ca.crt
{{- end }}
{{- if .allowPlaintext }}
- --opensearch-allow-plaintext
{{- else if contains "http://" (join "," .urls) }}
{{- fail "opensearch.urls: must begin with https://, because http:// sends items and credentials unencrypted; to accept http://, set opensearch.allowPlaintext: true" }}
{{- end }}
- --opensearch-index-prefix={{ include "vitrine.indexPrefix" $ }}
- --opensearch-url={{ join "," .urls }}
{{- end }}
{{- if ne $name "vitrine" }}
- --lease-name={{ $name }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* Releases in different namespaces must not share a library by accident. A prefix has at most 40 characters. */}}
{{- define "vitrine.indexPrefix" -}}
{{- $prefix := printf "%s-%s" (include "vitrine.fullname" .) (include "vitrine.namespace" .) -}}
{{- if gt (len $prefix) 40 -}}
{{- $prefix = printf "%s-%s" ($prefix | trunc 31 | trimSuffix "-") ($prefix | sha256sum | trunc 8) -}}
{{- end -}}
{{- default $prefix .Values.opensearch.indexPrefix -}}
{{- end -}}

{{/* Sources of the volume with the credentials and the certificate authority; empty if neither has a Secret. */}}
{{- define "vitrine.opensearchSecrets" -}}
{{- if eq .Values.library "opensearch" -}}
{{- with .Values.opensearch.credentialsSecret -}}
{{- if .name }}
- secret:
    name: {{ .name | quote }}
    items:
      - {key: {{ .usernameKey | quote }}, path: username}
      - {key: {{ .passwordKey | quote }}, path: password}
{{- end -}}
{{- end -}}
{{- with .Values.opensearch.caSecret -}}
{{- if .name }}
- secret:
    name: {{ .name | quote }}
    items:
      - {key: {{ .key | quote }}, path: ca.crt}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "vitrine.topologySpreadConstraints" -}}
{{- if eq .Values.library "opensearch" -}}
{{- range .Values.topologySpreadConstraints }}
- {{- merge (dict "labelSelector" (dict "matchLabels" (include "vitrine.selector" $ | fromYaml))) . | toYaml | nindent 2 }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The name of every object; kept to 52 characters, so that endings fit. */}}
{{- define "vitrine.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What selects the pod; a Deployment's selector cannot change, so neither may this. */}}
{{- define "vitrine.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "vitrine.labels" -}}
{{ include "vitrine.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "vitrine.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "vitrine.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name: name the account to use, as serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "vitrine.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The Service under each of its names. */}}
{{- define "vitrine.hosts" -}}
{{- $name := include "vitrine.fullname" . -}}
{{- $ns := .Release.Namespace -}}
{{- $hosts := list $name (printf "%s.%s" $name $ns) (printf "%s.%s.svc" $name $ns) (printf "%s.%s.svc.cluster.local" $name $ns) -}}
{{- join "," (concat $hosts .Values.server.tlsHosts) -}}
{{- end -}}

{{- define "vitrine.externalURL" -}}
{{- if .Values.server.externalURL -}}
{{- .Values.server.externalURL -}}
{{- else -}}
{{- printf "https://%s.%s.svc" (include "vitrine.fullname" .) .Release.Namespace -}}
{{- if ne (int .Values.service.port) 443 -}}{{- printf ":%d" (int .Values.service.port) -}}{{- end -}}
{{- end -}}
{{- end -}}

{{/* The port that a proxy speaks to. */}}
{{- define "vitrine.backendPort" -}}
{{- if .Values.plainHTTP.enabled }}{{ .Values.service.httpPort }}{{ else }}{{ .Values.service.port }}{{ end -}}
{{- end -}}

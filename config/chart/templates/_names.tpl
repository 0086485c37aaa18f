{{/* The name of every object, cut to 52 characters, so that suffixes fit. A Service's name must begin with a letter. */}}
{{- define "vitrine.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if regexMatch "^[0-9]" .Release.Name -}}
{{- printf "%s-%s" $name .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "vitrine.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{/* The selector of the pod. It must never change, because the selector of a Deployment is immutable. */}}
{{- define "vitrine.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "vitrine.labels" -}}
{{- include "vitrine.labelsWith" (list . dict) -}}
{{- end -}}

{{/* The labels of an object with additional labels: (list $ ADDITIONAL). The chart's own labels take precedence, then the additional ones. */}}
{{- define "vitrine.labelsWith" -}}
{{- $ := index . 0 -}}
{{- $own := include "vitrine.selector" $ | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/version" (include "vitrine.version" $) -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" $.Release.Service -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" $.Chart.Name $.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- merge $own (default dict (index . 1)) (default dict $.Values.commonLabels) | toYaml -}}
{{- end -}}

{{/* The server's version in the syntax of labels and image tags. */}}
{{- define "vitrine.version" -}}
{{- .Chart.AppVersion | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* "true" if the data directory is in a volume that survives the pod. */}}
{{- define "vitrine.persistent" -}}
{{- if and .Values.persistence.enabled (eq .Values.library "engine") }}true{{ end -}}
{{- end -}}

{{- define "vitrine.claim" -}}
{{- default (include "vitrine.fullname" .) .Values.persistence.existingClaim -}}
{{- end -}}

{{- define "vitrine.backupClaim" -}}
{{- default (printf "%s-backup" (include "vitrine.fullname" .)) .Values.backup.existingClaim -}}
{{- end -}}

{{/* "true" if scheduled backups go to a volume. */}}
{{- define "vitrine.backupVolume" -}}
{{- if and .Values.backup.enabled (not .Values.backup.s3.bucket) }}true{{ end -}}
{{- end -}}

{{/* "true" if a backup is restored before the server starts, from a volume if it has a claim, otherwise from the bucket. */}}
{{- define "vitrine.restores" -}}
{{- if and .Values.restore.path (or .Values.restore.claimName .Values.backup.s3.bucket) }}true{{ end -}}
{{- end -}}

{{- define "vitrine.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "vitrine.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name: required, because serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "vitrine.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" (include "vitrine.repository" $) .digest -}}
{{- else -}}
{{- printf "%s:%s" (include "vitrine.repository" $) (default (include "vitrine.version" $) .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The repository of the image, in the registry of global.imageRegistry if it is set. */}}
{{- define "vitrine.repository" -}}
{{- $repository := .Values.image.repository -}}
{{- with .Values.global.imageRegistry -}}
{{- printf "%s/%s" . (regexReplaceAll "^([^/]*[.:][^/]*|localhost)/" $repository "") -}}
{{- else -}}
{{- $repository -}}
{{- end -}}
{{- end -}}

{{/* The Secret with the certificate; empty if the server creates its own one. */}}
{{- define "vitrine.tlsSecret" -}}
{{- with .Values.tls -}}
{{- if .secretName -}}
{{- .secretName -}}
{{- else if .certManager.issuerRef.name -}}
{{- printf "%s-tls" (include "vitrine.fullname" $) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The ConfigMap with the authority of the client certificates that the webhook requires; empty if it requires none. */}}
{{- define "vitrine.webhookClientCA" -}}
{{- if .Values.webhook.enabled -}}
{{- with .Values.webhook.clientCA -}}
{{- if and .names (not .configMapName) -}}
{{- fail "webhook.clientCA.names: needs webhook.clientCA.configMapName, because without an authority the webhook accepts all callers" -}}
{{- end -}}
{{- .configMapName -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* All names of the Service. */}}
{{- define "vitrine.hosts" -}}
{{- $name := include "vitrine.fullname" . -}}
{{- $ns := (include "vitrine.namespace" .) -}}
{{- $hosts := list $name (printf "%s.%s" $name $ns) (printf "%s.%s.svc" $name $ns) (printf "%s.%s.svc.cluster.local" $name $ns) -}}
{{- join "," (concat $hosts (default list .Values.server.tlsHosts)) -}}
{{- end -}}

{{- define "vitrine.externalURL" -}}
{{- if .Values.server.externalURL -}}
{{- .Values.server.externalURL -}}
{{- else -}}
{{- printf "https://%s.%s.svc" (include "vitrine.fullname" .) (include "vitrine.namespace" .) -}}
{{- if ne (int .Values.service.port) 443 -}}{{- printf ":%d" (int .Values.service.port) -}}{{- end -}}
{{- end -}}
{{- end -}}

{{/* The port that a proxy connects to. */}}
{{- define "vitrine.backendPort" -}}
{{- if .Values.plainHTTP.enabled }}{{ .Values.service.httpPort }}{{ else }}{{ .Values.service.port }}{{ end -}}
{{- end -}}

{{/* The settings of an endpoint that Prometheus scrapes, of a PodMonitor or a ServiceMonitor. */}}
{{- define "vitrine.scrape" -}}
{{- $settings := dict -}}
{{- range $key := list "interval" "scrapeTimeout" "relabelings" "metricRelabelings" -}}
{{- with index $ $key -}}
{{- $_ := set $settings $key . -}}
{{- end -}}
{{- end -}}
{{- toYaml $settings -}}
{{- end -}}

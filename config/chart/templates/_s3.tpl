{{/* Parts of the containers that make and restore backups, with a bucket; without one, they are empty. */}}

{{/* "true" if a container uses the bucket. */}}
{{- define "vitrine.usesBucket" -}}
{{- if and .Values.backup.s3.bucket (or .Values.backup.enabled (include "vitrine.restores" .)) }}true{{ end -}}
{{- end -}}

{{/* The folder of scheduled backups, in the bucket or in the volume. */}}
{{- define "vitrine.backupTarget" -}}
{{- $name := include "vitrine.fullname" . -}}
{{- with .Values.backup.s3 -}}
{{- if .bucket -}}
{{- printf "s3://%s/%s" .bucket (default (printf "%s/%s" (include "vitrine.namespace" $) $name) .prefix | trimSuffix "/") -}}
{{- else -}}
{{- printf "/backup/%s" $name -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "vitrine.s3Args" -}}
{{- with .Values.backup.s3 -}}
{{- if .bucket }}
{{- with .endpoint }}
- --s3-endpoint={{ . }}
{{- end }}
{{- with .region }}
- --s3-region={{ . }}
{{- end }}
{{- if ne .addressing "auto" }}
- --s3-addressing={{ .addressing }}
{{- end }}
{{- if .caSecret.name }}
- --s3-ca-file=/etc/vitrine/s3/ca.crt
{{- end }}
{{- if .allowPlaintext }}
- --s3-allow-plaintext
{{- else if hasPrefix "http://" (default "" .endpoint) }}
{{- fail "backup.s3.endpoint: must begin with https://, because http:// sends backups unencrypted; to accept http://, set backup.s3.allowPlaintext: true" }}
{{- end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "vitrine.s3Env" -}}
{{- with .Values.backup.s3 -}}
{{- if and .bucket .credentialsSecret.name }}
- name: AWS_ACCESS_KEY_ID
  valueFrom: {secretKeyRef: {name: {{ .credentialsSecret.name | quote }}, key: {{ .credentialsSecret.accessKeyIDKey | quote }}}}
- name: AWS_SECRET_ACCESS_KEY
  valueFrom: {secretKeyRef: {name: {{ .credentialsSecret.name | quote }}, key: {{ .credentialsSecret.secretAccessKeyKey | quote }}}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* "true" if there is a volume with the certificate authority of the store. */}}
{{- define "vitrine.s3CA" -}}
{{- if and (include "vitrine.usesBucket" .) .Values.backup.s3.caSecret.name }}true{{ end -}}
{{- end -}}

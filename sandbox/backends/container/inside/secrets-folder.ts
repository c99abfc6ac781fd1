// Where a container has files with secrets: memory of its own, which the backend mounts.
export const SECRETS_FOLDER = '/run/platform';

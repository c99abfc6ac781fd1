// The folder for secrets in a container: a tmpfs that the backend mounts.
export const SECRETS_FOLDER = '/run/platform';

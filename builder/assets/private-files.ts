// Files that are never published, by name: dotfiles and private keys in any folder; also sources and configuration if a
// project is served without a build. Called by assets.ts. Pure, except that one ambiguous extension requires reading
// the file.

/** Keys and keystores. Certificates are public, but a .pem file may contain a certificate or a private key. */
const keyNames =
  /^(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|.*\.(?:pem|key|p12|pfx|p8|jks|keystore|ppk|kdbx)|(?:service-?account(?:-?key)?|credentials?|secrets?)\.(?:json|ya?ml|toml)|.*\.env)$/i;

/** Lockfiles, manifests and tool configuration, in any folder of a project. */
const PROJECT_NAMES = new Set(
  `platform.yaml platform.yml platform-workspace.yaml package.json package-lock.json npm-shrinkwrap.json pnpm-lock.yaml
  pnpm-workspace.yaml yarn.lock bun.lock bun.lockb bunfig.toml deno.json deno.jsonc deno.lock composer.json composer.lock gemfile
  gemfile.lock cargo.toml cargo.lock go.mod go.sum poetry.lock pyproject.toml requirements.txt pipfile pipfile.lock uv.lock jsconfig.json
  turbo.json turbo.jsonc nx.json lerna.json rush.json angular.json vercel.json netlify.toml wrangler.toml wrangler.json wrangler.jsonc
  firebase.json fly.toml render.yaml app.yaml now.json makefile dockerfile containerfile procfile vagrantfile jenkinsfile rakefile
  hugo.toml hugo.yaml hugo.json _config.yml mkdocs.yml book.toml worker-configuration.d.ts thumbs.db`.split(/\s+/),
);

/** Sources, databases and logs, by extension. */
const PROJECT_ENDINGS =
  /\.(?:[cm]?tsx?|jsx|vue|svelte|astro|php|sql|sqlite3?|db|log|bak|tsbuildinfo|lock|orig|swp|tfstate|tfvars)$/i;

/** Tool configuration in the root of a project; in subfolders, such a file may be a script of the page. */
const ROOT_NAMES =
  /^(?:.*\.(?:config|conf|setup|workspace)\.[cm]?[jt]sx?(?:on)?|tsconfig.*\.json|docker-compose.*|compose\.ya?ml|dockerfile\..*|gulpfile\..*|gruntfile\..*|babel\.config\..*)$/i;

/** Why a file or folder is not published; null if it is published. */
export type Withheld = 'hidden' | 'key' | 'project' | null;

/**
 * Decides whether a file or folder of an assets folder is excluded.
 *
 * @param name its base name @param atTop whether the file is in the folder itself @param isProject whether the folder
 * is the project
 */
export function withheldBy(name: string, atTop: boolean, isProject: boolean): Withheld {
  if (name === 'node_modules' || (name.startsWith('.') && name !== '.well-known')) return 'hidden';
  if (keyNames.test(name)) return 'key';
  if (!isProject) return null;
  const isOfProject =
    PROJECT_NAMES.has(name.toLowerCase()) || PROJECT_ENDINGS.test(name) || (atTop && ROOT_NAMES.test(name));
  return isOfProject ? 'project' : null;
}

/** Whether a name has a TypeScript extension that is also used for video. */
export function mayBeVideo(name: string): boolean {
  return /\.ts$/i.test(name);
}

/** Whether bytes are an MPEG transport stream: packets of 188 bytes that start with G. */
export function isVideo(start: Uint8Array): boolean {
  return start.length > 188 && start[0] === 0x47 && start[188] === 0x47;
}

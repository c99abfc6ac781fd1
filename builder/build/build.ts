// Builds an artifact from a source folder by combining the other modules of builder/. Called by the CLI and by build
// jobs.
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ownPreviewSettings } from '#core/preview-settings.ts';
import { defaultLimits } from '#core/limits.ts';
import type { AssetRules, Manifest, ServerRules } from '#core/manifest.ts';
import { rpcWorkerCode } from '#core/rpc/worker-code.ts';
import type { AssetsConfig } from '#core/config/project-config.ts';
import { hashOf } from '#core/artifact-id.ts';
import { encodeAssets } from '../assets/asset-encodings.ts';
import { parseHeaders } from '../assets/asset-headers.ts';
import { parseRedirects } from '../assets/asset-redirects.ts';
import { clientRouterWarning } from '../assets/client-router.ts';
import { collectAssets, tooLarge, type ArtifactLimits, type Assets } from '../assets/assets.ts';
import { BuildError, projectPath } from '../project/build-error.ts';
import { runBuild } from '../command/build-step.ts';
import { bundle, type Bundle } from '../bundle/bundle.ts';
import { containmentOf, isInside } from '../project/containment.ts';
import { assetsBinding } from '../frameworks/adapters.ts';
import { findEntry, type ProjectEntry } from '../frameworks/entry.ts';
import { outputFolder } from '../frameworks/output-folder.ts';
import { hasNodeCompat, type BuildConfig } from '../project/project.ts';
import { archiveServer } from '../ssr/archive.ts';
import { findServer, standaloneWarning, type ProjectServer } from '../ssr/server.ts';
import { writeArtifact, type Artifact } from './artifact.ts';
import { readMigrations } from './migrations.ts';

const IMMUTABLE = 'public, max-age=31536000, immutable';
/** Compatibility date of workers that set none: fixed, so that old sources keep their artifact id. */
const DEFAULT_COMPATIBILITY_DATE = '2025-04-02';

export const defaultAssets: AssetsConfig = {
  binding: null,
  notFoundHandling: null,
  runWorkerFirst: false,
  errorPages: {},
};

/** Source and output of a build. */
interface BuildOptions {
  /** The project's folder (repository root plus `base`). */
  readonly root: string;
  /**
   * The repository, if it is a workspace, whose files may be imported too; by default, only files of the project's
   * folder may be imported.
   */
  readonly workspace?: string;
  readonly config: BuildConfig;
  /** Folder that artifacts are written into. */
  readonly artifacts: string;
  /** Called with output of the `build` command. */
  readonly onOutput?: (text: string) => void;
  /** Variables for the `build` command. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Limits; defaults from core/limits.ts. */
  readonly limits?: ArtifactLimits & { readonly bundleBytesMax: number };
  /** An existing bundle (from watch.ts), used instead of bundling. */
  readonly bundle?: Bundle;
  /** Result of the build command if it already ran (build-step.ts) and must not run again. */
  readonly made?: readonly string[] | null;
  /** Called with warnings of a successful build. */
  readonly onWarning?: (text: string) => void;
  /** Whether to wait until the artifact is flushed to disk; default true. */
  readonly durable?: boolean;
  /** Free disk space to keep; default 0. */
  readonly keepsFreeBytes?: number;
  /** Whether to precompress assets; default true. */
  readonly compress?: boolean;
}

/**
 * Builds a project. The same sources give the same artifact id, wherever their folder is.
 *
 * @throws {BuildError} for every problem of the project; no files are then left in `artifacts`.
 * @example
 * const { id, folder } = await build({ root: '/srv/app', config, artifacts: '/srv/data/artifacts' });
 */
export async function build(options: BuildOptions): Promise<Artifact> {
  const limits = options.limits ?? defaultLimits;
  const root = await realpath(options.root).catch(() => {
    throw new BuildError('unknown_kind', `The project folder ${options.root} does not exist`);
  });
  // The build command runs first, because it may create the entry as well as the files.
  const made = options.made === undefined ? await runBuild(root, options.config, options) : options.made;
  const project = findEntry(root, options.config);
  const [workflow] = Object.keys(options.config.workflowClasses ?? {});
  if (workflow !== undefined && (project.kind === 'ssr' || project.entry === null))
    throw new BuildError(
      'not_supported',
      `workflow in platform.yaml names a class for ${workflow}, which only a worker can export: use a function`,
    );
  if (project.kind === 'ssr') return buildServer(root, options, limits);
  const bundling = bundleOf(project, root, options);
  const [worker, assets] = await Promise.all([bundling, assetsOf(project, root, options, made, bundling)]);
  for (const warning of worker?.warnings ?? []) options.onWarning?.(warning);
  return finish(project.kind, root, options, { worker, assets, server: null });
}

/** A Node server, with a worker that handles its binding calls. */
async function buildServer(root: string, options: BuildOptions, limits: ArtifactLimits): Promise<Artifact> {
  const workspace = options.workspace === undefined ? root : await realpath(options.workspace);
  const server = findServer(root, workspace, options.config);
  await mkdir(options.artifacts, { recursive: true });
  const folder = await mkdtemp(join(options.artifacts, '.server-'));
  try {
    const file = join(folder, 'server.tar');
    const [rules, assets] = await Promise.all([
      archiveServer(server, root, limits, file),
      serverAssets(server, root, options),
    ]);
    const warning = standaloneWarning(server, root, rules.bytes);
    if (warning !== null) options.onWarning?.(warning);
    const code = rpcWorkerCode(defaultLimits.dashboardBodyBytesMax);
    return await finish('ssr', root, options, { worker: { code, map: null }, assets, server: { ...rules, file } });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The parts built from a project. */
interface Made {
  readonly worker: { readonly code: string; readonly map: string | null } | null;
  readonly assets: RuledAssets | null;
  readonly server: (ServerRules & { readonly file: string }) | null;
}

async function finish(
  kind: Manifest['kind'],
  root: string,
  options: BuildOptions,
  { worker, assets, server }: Made,
): Promise<Artifact> {
  const limits = options.limits ?? defaultLimits;
  const rules = {
    ...(options.config.assets ?? defaultAssets),
    binding: assetsBinding(root, options.config),
  };
  if (kind === 'static' && assets !== null && rules.notFoundHandling === null) {
    const warning = await clientRouterWarning(root, Object.keys(assets.files));
    if (warning !== null) options.onWarning?.(warning);
  }
  checkErrorPages(rules.errorPages, assets?.files ?? {});
  const migrations = await readMigrations(containmentOf(root, options.workspace), options.config.bindings.db);
  const migrationsText = migrations.length === 0 ? null : JSON.stringify(migrations);
  const code = worker === null ? 0 : Buffer.byteLength(worker.code) + Buffer.byteLength(worker.map ?? '');
  const total = (assets?.bytes ?? 0) + (server?.bytes ?? 0) + code;
  if (total > limits.artifactBytesMax)
    throw tooLarge('bytes', total, limits.artifactBytesMax, 'BUILD_ARTIFACT_MAX_BYTES');
  const write = (files: AssetRules['files'], encoded?: ReadonlyMap<string, string>): Promise<Artifact> => {
    const manifest = {
      ...toManifest(kind, { ...options.config, assets: rules }, worker, assets && { ...assets, files }),
      ...(server === null ? {} : { server: rulesOf(server) }),
      ...(migrationsText === null ? {} : { migrations: { hash: hashOf(migrationsText) } }),
    };
    const content = {
      manifest,
      worker,
      assets: assets?.sources ?? new Map<string, string>(),
      ...(migrationsText === null ? {} : { migrations: migrationsText }),
      ...(server === null ? {} : { server: server.file }),
    };
    return writeArtifact(
      options.artifacts,
      encoded === undefined ? content : { ...content, encoded },
      options.durable,
      options.keepsFreeBytes,
    );
  };
  if (assets === null || options.compress === false) return write(assets?.files ?? {});
  await mkdir(options.artifacts, { recursive: true });
  const folder = await mkdtemp(join(options.artifacts, '.encoded-'));
  try {
    const encoded = await encodeAssets(assets, folder);
    return await write(encoded.files, encoded.sources);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @throws {BuildError} if a page is not in the output, or is not HTML. */
function checkErrorPages(pages: AssetsConfig['errorPages'], files: AssetRules['files']): void {
  for (const [status, path] of Object.entries(pages)) {
    const file = Object.hasOwn(files, path.slice(1)) ? files[path.slice(1)] : undefined;
    const key = `assets.error_pages.${status} in platform.yaml`;
    if (file === undefined)
      throw new BuildError('assets', `${key}: the output has no file ${path}. Create the file, or change the path`);
    if (!file.type.startsWith('text/html'))
      throw new BuildError('assets', `${key}: ${path} is not an HTML file (${file.type})`);
  }
}

async function bundleOf(project: ProjectEntry, root: string, options: BuildOptions): Promise<Bundle | null> {
  if (project.entry === null) return null;
  if (options.bundle) return options.bundle;
  const bytesMax = (options.limits ?? defaultLimits).bundleBytesMax;
  const workspace = options.workspace ?? root;
  const { config } = options;
  const { workflowClasses = {} } = config;
  return bundle({
    root,
    workspace,
    entry: project.entry,
    nodeCompat: hasNodeCompat(config),
    workflowClasses,
    bytesMax,
  });
}

/** The assets with the rules of their folder. */
type RuledAssets = Assets & Pick<AssetRules, 'headers' | 'redirects'>;

async function assetsOf(
  project: ProjectEntry,
  root: string,
  { config, limits = defaultLimits, onWarning }: BuildOptions,
  made: readonly string[] | null,
  bundling: Promise<Bundle | null>,
): Promise<RuledAssets | null> {
  if (project.kind === 'ssr') return null;
  const folder = outputFolder(root, project.kind, config, made);
  if (folder === null) return null;
  const isMade = project.entry !== null && isInside(folder, await realpath(project.entry));
  const assets = await collectAssets(folder, limits, {
    isProject: folder === root,
    worker: isMade ? ((await bundling)?.inputs ?? []) : [],
  });
  return ruled(assets, root, folder, onWarning);
}

/** Merges the folders of a server that are served as static files. */
async function serverAssets(
  { assets: folders }: ProjectServer,
  root: string,
  { limits = defaultLimits, onWarning }: BuildOptions,
): Promise<RuledAssets | null> {
  const parts: RuledAssets[] = [];
  for (const [prefix, folder] of folders) {
    const found = ruled(await collectAssets(folder, limits), root, folder, onWarning);
    parts.push(prefix === '' ? found : withPrefix(found, prefix));
  }
  const [first] = parts;
  if (first === undefined) return null;
  return {
    ...first,
    files: Object.fromEntries(parts.flatMap(({ files }) => Object.entries(files)).sort(([a], [b]) => (a < b ? -1 : 1))),
    sources: new Map(parts.flatMap(({ sources }) => [...sources])),
    headers: parts.flatMap(({ headers = [] }) => headers),
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/**
 * Serves a folder below a prefix, with headers for immutable files. Only frameworks use such folders, and their file or
 * folder names contain a hash.
 */
function withPrefix(assets: RuledAssets, prefix: string): RuledAssets {
  const { files, sources, headers = [] } = assets;
  return {
    ...assets,
    headers: [...headers, { pattern: `/${prefix}*`, set: [['cache-control', IMMUTABLE]], remove: [] }],
    files: Object.fromEntries(Object.entries(files).map(([path, file]) => [prefix + path, file])),
    sources: new Map([...sources].map(([path, file]) => [prefix + path, file])),
  };
}

/** Assets with the rules of their folder. */
function ruled(assets: Assets, root: string, folder: string, onWarning: BuildOptions['onWarning']): RuledAssets {
  if (assets.withheld.length > 0)
    onWarning?.(`Not published, because these files are keys: ${assets.withheld.join(', ')}`);
  const pathOf = (name: string): string => projectPath(root, join(folder, name));
  const { headers, redirects } = assets.rules;
  return {
    ...assets,
    ...(headers === null ? {} : { headers: parseHeaders({ text: headers, file: pathOf('_headers') }) }),
    ...(redirects === null ? {} : { redirects: parseRedirects({ text: redirects, file: pathOf('_redirects') }) }),
  };
}

/** Only the fields that belong in the manifest. */
function rulesOf({ hash, bytes, start, folder }: ServerRules): ServerRules {
  return { hash, bytes, start, folder };
}

/** The handler's configuration. Defaults of platform.yaml are written explicitly, so that ids are stable. */
export function toManifest(
  kind: Manifest['kind'],
  config: BuildConfig,
  worker: Made['worker'],
  assets: Pick<AssetRules, 'files' | 'headers' | 'redirects'> | null,
): Manifest {
  const cron = Object.entries(config.cron).map(([name, { schedule, timezone, overlap }]) => [
    name,
    { schedule, timezone, ...(overlap === 'queue' && { overlap }) },
  ]);
  const previews = ownPreviewSettings(config.previews);
  const { errorPages, notFoundHandling, ...rules } = config.assets ?? defaultAssets;
  const pages = Object.entries(errorPages).map(([status, path]) => [status, path.slice(1)]);
  return {
    version: 1,
    kind,
    worker: worker && {
      hash: hashOf(worker.code),
      bytes: Buffer.byteLength(worker.code),
      mapHash: worker.map === null ? null : hashOf(worker.map),
    },
    compatibilityDate: config.compatibilityDate ?? DEFAULT_COMPATIBILITY_DATE,
    compatibilityFlags: config.compatibilityFlags,
    assets: assets && {
      ...rules,
      // Sites serve their `404.html` for unknown paths.
      notFoundHandling: notFoundHandling ?? (kind === 'static' ? '404-page' : 'none'),
      files: assets.files,
      // Optional fields are omitted if empty, so that the ids of projects without them do not change.
      ...(pages.length > 0 ? { errorPages: Object.fromEntries(pages) } : {}),
      ...(assets.headers?.length ? { headers: assets.headers } : {}),
      ...(assets.redirects?.length ? { redirects: assets.redirects } : {}),
    },
    bindings: Object.fromEntries(
      Object.entries({
        ...config.bindings,
        auth: config.auth === null ? {} : { [config.auth.binding]: 'users' },
      }).filter(([, declared]) => Object.keys(declared).length > 0),
    ),
    ...(Object.keys(config.objects).length > 0 ? { objects: config.objects } : {}),
    ...(config.objectClasses === undefined ? {} : { objectClasses: config.objectClasses }),
    ...(Object.keys(config.queues).length > 0 ? { queues: config.queues } : {}),
    ...(config.workflowClasses === undefined ? {} : { workflowClasses: config.workflowClasses }),
    cron: Object.fromEntries(cron),
    ...(previews === null ? {} : { previews }),
    ...(config.release === null ? {} : { release: config.release }),
    ai: config.ai,
    skewProtection: config.skewProtection,
  };
}

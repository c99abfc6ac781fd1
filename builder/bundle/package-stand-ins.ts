// Bundler plugin for packages that cannot run in a worker (impossible-packages.ts) and for native modules: replaces
// them with an error message, at build time or at first use. `ws` is replaced by the worker's WebSocket client. Used by
// bundle.ts.
import { existsSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import type { Plugin } from 'rolldown';
import { readTextSync } from '#core/text-file.ts';
import { sourceFile } from '../project/build-error.ts';
import { impossibleMessage, impossibleOf, impossiblePackages, packageNameOf } from './impossible-packages.ts';
import { ownPath } from './node-compat.ts';

/** An import statement in the project's own code that names a replaced package. */
export interface ImpossibleImport {
  readonly specifier: string;
  /** The importing file, absolute. */
  readonly importer: string;
  /** The error message. */
  readonly message: string;
}

/** Findings of the plugin. */
export interface ImpossibleImports {
  /** Imports that fail as soon as they are loaded: the build fails. */
  readonly refused: ImpossibleImport[];
  /** Imports that fail at first use: the build warns. */
  readonly warned: ImpossibleImport[];
}

/** When a stand-in throws: on load, so that `try { require(...) }` continues, or on call. */
type Moment = 'load' | 'use';

const PREFIX = '\0platform:impossible/';
const TRANSPORT_PREFIX = '\0platform:fetch-transport/';
const XHR_TRANSPORT = /\/polling-xhr(?:\.node)?\.js$/;

/** Packages that locate and load native binaries. */
const nativeLoaders: readonly string[] = [
  '@mapbox/node-pre-gyp',
  'bindings',
  'node-gyp-build',
  'node-gyp-build-optional-packages',
  'node-pre-gyp',
];

/** A platform-specific binary package, as named by napi-rs and others: `@node-rs/argon2-linux-x64-gnu`. */
const BINARY_PACKAGE =
  /^[@\w./-]+[-/](?:(?:android|darwin|freebsd|linux|linuxmusl|win32)-(?:arm|arm64|ia32|ppc64|riscv64|s390x|x64|universal)(?:-[a-z]+)?|wasm32-wasi)$/;

const named = [...Object.keys(impossiblePackages), ...nativeLoaders, 'ws'].map((name) =>
  name.replace(/[^\w]/g, '\\$&'),
);
const impossibleName = new RegExp(`^(?:${named.join('|')})(?:/|$)`);

/**
 * @param found filled with the imports of the project's own files
 * @param nodeCompat whether Node's modules are available; `ws` needs them
 */
export function packageStandInsPlugin(found: ImpossibleImports, nodeCompat: boolean): Plugin {
  return {
    name: 'platform:package-stand-ins',
    resolveId: {
      filter: { id: [impossibleName, BINARY_PACKAGE, /\.node$/, XHR_TRANSPORT] },
      async handler(source, importer, options) {
        if (importer === undefined) return null;
        if (XHR_TRANSPORT.test(source)) return fetchTransport(source, importer);
        const isRequired = options.kind === 'require-call' || options.kind === 'dynamic-import';
        const file = sourceFile(importer);
        const isOwn = !isDependency(file);
        if (source.endsWith('.node') || BINARY_PACKAGE.test(source) || nativeLoaders.includes(source)) {
          if (isOwn && !source.endsWith('.node')) return null;
          const name = isOwn ? source : ownerOf(file);
          const message = impossibleMessage(name);
          if (isOwn && !isRequired) found.refused.push({ specifier: source, importer: file, message });
          return standIn('load', name);
        }
        const entry = impossibleOf(source);
        if (entry === undefined && !(source === 'ws' && nodeCompat)) return null;
        const name = packageNameOf(source);
        const resolved = await this.resolve(source, importer, { ...options, skipSelf: true });
        // The name belongs to a module of the project or to another package.
        if (resolved !== null && resolved.external === false) {
          const target = sourceFile(resolved.id);
          if (!isDependency(target) || ownerOf(target) !== name) return resolved;
        }
        if (entry === undefined) return { id: ownPath('shims/ws'), moduleSideEffects: false };
        if (isOwn && !isRequired)
          found[entry.why === 'native' ? 'refused' : 'warned'].push({
            specifier: source,
            importer: file,
            message: impossibleMessage(name),
          });
        return standIn(entry.why === 'native' && isRequired ? 'load' : 'use', name);
      },
    },
    load: {
      filter: { id: [/^\0platform:impossible\//, /^\0platform:fetch-transport\//] },
      // The module is CommonJS, which is evaluated when it is required, and whose exports need no names.
      handler(id) {
        if (id.startsWith(TRANSPORT_PREFIX))
          return {
            code: `export { Fetch as XHR } from ${JSON.stringify(id.slice(TRANSPORT_PREFIX.length))};`,
            moduleType: 'js',
          };
        const [moment, ...rest] = id.slice(PREFIX.length).split('/');
        const message = JSON.stringify(impossibleMessage(rest.join('/')));
        return {
          code:
            moment === 'load'
              ? `throw Object.assign(new Error(${message}), { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' });\nmodule.exports = {};`
              : `module.exports = require(${JSON.stringify(ownPath('shims/impossible-package'))}).impossiblePackage(${message});`,
          moduleType: 'js',
        };
      },
    },
  };
}

/** socket.io's client polls with XMLHttpRequest first; the adjacent file implements the same with fetch. */
function fetchTransport(source: string, importer: string): { id: string } | null {
  if (!importer.includes(`${sep}engine.io-client${sep}`)) return null;
  const file = join(dirname(sourceFile(importer)), dirname(source), 'polling-fetch.js');
  return existsSync(file) ? { id: TRANSPORT_PREFIX + file } : null;
}

function standIn(moment: Moment, name: string): { id: string; moduleSideEffects: boolean } {
  return { id: `${PREFIX}${moment}/${name}`, moduleSideEffects: moment === 'load' };
}

function isDependency(file: string): boolean {
  return file.includes(`${sep}node_modules${sep}`);
}

/** The package of a file, from the nearest package.json with a name. */
function ownerOf(file: string): string {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    try {
      const { name } = JSON.parse(readTextSync(join(folder, 'package.json'))) as { name?: unknown };
      if (typeof name === 'string') return name;
    } catch {
      // This folder has no package.json.
    }
  }
  return file;
}

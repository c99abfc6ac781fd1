// Bundler plugin for `nodejs_compat`: maps `node:*` and Node's bare module names to modules that work in an isolate.
// Bundles only contain what they import. Used by bundle.ts.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'rolldown';
import { builderFolder } from '../project/containment.ts';
import { isNodeBuiltin, needsPrefix, ownModules, realExports, unenvModules } from './node-builtins.ts';

const builtin = createRequire(import.meta.url);

/** npm packages used by our modules, resolved from here and not from the project; with the module that imports each. */
const basesOf: Readonly<Record<string, { readonly file: string; readonly importer: string }>> = {
  'buffer/': { file: 'buffer/index.js', importer: 'node/buffer' },
  'readable-stream': { file: 'readable-stream/lib/ours/browser.js', importer: 'node/stream' },
};

/** Prefix of the ids of modules generated here, followed by the name of a Node module. */
const UNAVAILABLE_PREFIX = '\0platform:unavailable/';
const REQUIRE_PREFIX = '\0platform:require/';
const PROVIDED_PREFIX = '\0platform:provided/';

const GLOBALS_PREFIX = '\0platform:globals/';

/** `g.Buffer`, `g['process']`, `'process' in g`. */
const ALIASED = /(?:\.|\[\s*["'`]|["'`](?=(?:Buffer|process)["'`]\s+in\b))(Buffer|process)\b(?!\s*\()/g;
/** Matches `const { Buffer, process: p } = g`. */
const TAKEN_APART = /\{([^{}]*)\}\s*=\s*\w/g;

/**
 * Matches `require('events')` and `__require("node:events")`, for modules that create their own require with
 * `createRequire`.
 */
const OWN_REQUIRE = /\b\w*[rR]equire\w*\(\s*(["'])(?:node:)?([a-z_0-9]+(?:\/[a-z_0-9]+)?)\1\s*\)/g;

/** Absolute path of a module of builder/node/ or builder/shims/; these stay TypeScript in a packed installation. */
export function ownPath(name: string): string {
  return fileURLToPath(new URL(`../${name}.ts`, import.meta.url));
}

/**
 * Node globals, each imported only into modules that use it. The values have the format of rolldown's
 * `transform.inject`.
 */
export function nodeGlobals(): Record<string, [string, string]> {
  const buffer: [string, string] = ['node:buffer', 'Buffer'];
  const process: [string, string] = ['node:process', 'default'];
  return {
    Buffer: buffer,
    'globalThis.Buffer': buffer,
    'self.Buffer': buffer,
    process,
    'globalThis.process': process,
    'self.process': process,
    setImmediate: [ownPath('node/immediate'), 'setImmediate'],
    clearImmediate: [ownPath('node/immediate'), 'clearImmediate'],
  };
}

/** @param nodeCompat whether Node's modules are available. */
export function nodeCompatPlugin(nodeCompat: boolean): Plugin {
  return {
    name: 'platform:node-compat',
    // Node modules that single-file packages require at run time. Imports are appended, which keeps positions in the
    // file, and are evaluated before its code.
    transform: {
      filter: { id: /\.[cm]?[jt]sx?$/, code: /\b(?:createRequire|globalThis|self|global)\b/ },
      handler(code, id) {
        if (!nodeCompat || id.startsWith(builderFolder) || !/^\s*(?:import|export)\b/m.test(code)) return null;
        const required = code.includes('createRequire')
          ? [...code.matchAll(OWN_REQUIRE)].map(([, , name]) => name!).filter(isNodeBuiltin)
          : [];
        const globals = id.includes('node_modules') ? [] : aliasedIn(code);
        const added = [
          ...(required.length === 0 ? [] : [PROVIDED_PREFIX + listed(required)]),
          ...(globals.length === 0 ? [] : [GLOBALS_PREFIX + listed(globals)]),
        ];
        if (added.length === 0) return null;
        return { code: `${code}\n${added.map((name) => `import ${JSON.stringify(name)};`).join('')}`, map: null };
      },
    },
    resolveId: {
      filter: {
        id: [/^node:/, /^[a-z_0-9]+(?:\/[a-z_0-9]+)?\/?$/, /^readable-stream$/, /^\0platform:(?:provided|globals)\//],
      },
      handler(source, importer, { kind }) {
        if (source.startsWith('\0')) return { id: source, moduleSideEffects: true };
        const base = basesOf[source];
        if (base !== undefined && importer === ownPath(base.importer))
          return { id: builtin.resolve(base.file), moduleSideEffects: false };
        // readable-stream imports packages (`events/`) instead of Node modules; ours are equivalent and already
        // included.
        const name = source.replace(importer?.includes('/readable-stream/') ? /^node:|\/$/g : /^node:/, '');
        if (!nodeCompat || !isNodeBuiltin(name) || (source === name && needsPrefix(name))) return null;
        if (kind === 'require-call') return { id: REQUIRE_PREFIX + name };
        if (ownModules.includes(name)) return { id: ownPath(`node/${ownFile(name)}`), moduleSideEffects: false };
        if (unenvModules.includes(name)) return { id: unenvPath(name), moduleSideEffects: false };
        return { id: UNAVAILABLE_PREFIX + name, moduleSideEffects: false };
      },
    },
    load: {
      filter: { id: /^\0platform:(?:unavailable|require|provided|globals)\// },
      handler(id) {
        if (id.startsWith(GLOBALS_PREFIX)) return aliasedGlobals(id.slice(GLOBALS_PREFIX.length).split(','));
        if (id.startsWith(PROVIDED_PREFIX)) return providedModules(id.slice(PROVIDED_PREFIX.length).split(','));
        if (id.startsWith(REQUIRE_PREFIX)) return mutableModule(id.slice(REQUIRE_PREFIX.length));
        return unavailableModule(id.slice(UNAVAILABLE_PREFIX.length));
      },
    },
  };
}

/** Files whose name differs from the Node module. */
const ownFiles: Readonly<Record<string, string>> = { sys: 'language', util: 'language', 'util/types': 'value-types' };

/** File name for a Node module: `stream/promises` -> `stream-promises`. */
function ownFile(name: string): string {
  return ownFiles[name] ?? name.replaceAll(/[_/]/g, '-');
}

function unenvPath(name: string): string {
  // unenv has one module for POSIX paths and Windows paths.
  const exported = name.startsWith('path/') ? 'path' : name;
  return fileURLToPath(import.meta.resolve(`unenv/node/${exported}`));
}

/** `require('node:x')` in CommonJS: a plain object that packages may modify, as in Node. */
function mutableModule(name: string): string {
  return [
    `import * as all from ${JSON.stringify(`node:${name}`)};`,
    `import { toMutable } from ${JSON.stringify(ownPath('node/mutable'))};`,
    `const exported = toMutable(all);`,
    `export { exported as 'module.exports' };`,
  ].join('\n');
}

/** Node globals that a file reads from the global object. */
function aliasedIn(code: string): string[] {
  const taken = [...code.matchAll(TAKEN_APART)].map(([, names]) => names).join();
  return [
    ...[...code.matchAll(ALIASED)].map(([, name]) => name!),
    ...['Buffer', 'process'].filter((name) => new RegExp(`\\b${name}\\b`).test(taken)),
  ];
}

function listed(names: readonly string[]): string {
  return [...new Set(names)].toSorted().join();
}

/** Defines Node globals on the global object if the project's code reads them from there. */
function aliasedGlobals(names: readonly string[]): string {
  return names
    .map(
      (name) =>
        `if (!Object.hasOwn(globalThis, '${name}')) Object.defineProperty(globalThis, '${name}', { value: ${name}, writable: true, configurable: true });`,
    )
    .join('\n');
}

/** Provides Node modules to functions created by `createRequire`. */
function providedModules(names: readonly string[]): string {
  return [
    `import { provideModule } from ${JSON.stringify(ownPath('node/module'))};`,
    `import { toMutable } from ${JSON.stringify(ownPath('node/mutable'))};`,
    ...names.map((name, index) => `import * as m${index} from ${JSON.stringify(`node:${name}`)};`),
    ...names.map((name, index) => `provideModule(${JSON.stringify(name)}, () => toMutable(m${index}));`),
  ].join('\n');
}

/** A module whose functions throw when called; its constants work. */
function unavailableModule(name: string): string {
  const real = realExports[name];
  const file =
    real?.from === 'own'
      ? ownPath(`node/${ownFile(name)}`)
      : fileURLToPath(import.meta.resolve(`unenv/node/${name}`, import.meta.url));
  const facts = real?.names.join(', ') ?? '';
  const others = exportNames(name).filter((key) => real?.names.includes(key) !== true);
  return [
    `import { unavailable } from ${JSON.stringify(ownPath('node/unavailable'))};`,
    ...(real === undefined ? [] : [`import { ${facts} } from ${JSON.stringify(file)};`, `export { ${facts} };`]),
    ...others.map((key) => `export const ${key} = /* @__PURE__ */ unavailable(${JSON.stringify(`${name}.${key}`)});`),
    // Mostly complete modules are plain objects, as in Node.
    real?.whole === true
      ? `export default { ${[facts, ...others].join(', ')} };`
      : `export default /* @__PURE__ */ unavailable(${JSON.stringify(name)}, { ${facts} });`,
  ].join('\n');
}

/** Exports of Node's own module, so that `import { readFile } from 'node:fs'` links. Unused modules are tree-shaken. */
function exportNames(name: string): string[] {
  const keys = Object.keys(builtin(`node:${name}`) as object);
  return keys.filter((key) => /^[A-Za-z_$][\w$]*$/.test(key) && key !== 'default').sort();
}

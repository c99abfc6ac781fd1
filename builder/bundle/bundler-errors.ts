// Converts rolldown errors to BuildErrors with advice. Called by bundle.ts with all log entries of one run.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  BuildError,
  rootIndexMark,
  joinBuildErrors,
  projectPath,
  whereIs,
  type BuildErrorCode,
  type BundlerLog,
} from '../project/build-error.ts';
import type { Containment } from '../project/containment.ts';
import { cloudflareModules } from './cloudflare-modules.ts';
import { isNodeBuiltin } from './node-builtins.ts';

/** The virtual module around the worker's entry. */
export const ENTRY_ID = '\0platform:entry';

/** Context for the hints. */
interface ErrorContext {
  readonly containment: Containment;
  readonly nodeCompat: boolean;
}

const codes: Readonly<Record<string, BuildErrorCode>> = {
  PARSE_ERROR: 'syntax',
  JSON_PARSE: 'syntax',
  UNRESOLVED_IMPORT: 'unresolved_import',
  RESOLVE_ERROR: 'unresolved_import',
  MISSING_EXPORT: 'missing_export',
  UNLOADABLE_DEPENDENCY: 'unloadable_import',
};

/** Converts the error of a failed rolldown run to one BuildError. */
export function toBuildError(error: unknown, context: ErrorContext): BuildError {
  const logs = (error as { errors?: readonly BundlerLog[] } | null)?.errors;
  if (Array.isArray(logs) && logs.length > 0)
    return joinBuildErrors(logs.map((log: BundlerLog) => fromLog(log, context)));
  return asBuildError(error);
}

/** Converts any failure to a BuildError. */
export function asBuildError(error: unknown): BuildError {
  if (error instanceof BuildError) return error;
  return new BuildError('bundler', error instanceof Error ? error.message : String(error), { cause: error });
}

/** Converts one log entry to a BuildError. */
export function fromLog(log: BundlerLog, context: ErrorContext): BuildError {
  const code = codes[log.code ?? ''] ?? 'bundler';
  return new BuildError(code, messageOf(log, context), whereIs(context.containment, log));
}

function messageOf(log: BundlerLog, context: ErrorContext): string {
  const plain = firstLine(log.message);
  const from = log.id === undefined ? 'the worker' : projectPath(context.containment.root, log.id);
  if (codes[log.code ?? ''] === 'unresolved_import' && log.exporter !== undefined) {
    return `Cannot resolve "${log.exporter}", imported from ${from}. ${resolveHint(log.exporter, log.id, context)}`;
  }
  if (log.code === 'MISSING_EXPORT' && log.id === ENTRY_ID)
    return `${plain} platform.yaml names it as the class of a workflow: export it`;
  if (log.code === 'MISSING_EXPORT') return `${plain} If it is a type, import it with \`import type\``;
  if (log.code === 'UNLOADABLE_DEPENDENCY') {
    return `${plain}${/valid UTF-8/.test(log.message) ? ': it is no text. Put it into the assets folder, or import it with { type: "bytes" }' : ''}`;
  }
  if (log.code === 'PARSE_ERROR' && log.id !== undefined && !/\.(?:[cm]?[jt]sx?|json)$/.test(log.id)) {
    return `${plain}: ${from} is read as JavaScript. For its text, import it with { type: "text" } or "?raw"`;
  }
  return plain;
}

function firstLine(message: string): string {
  return (message.split('\n')[0] ?? message)
    .replace(/^\[[A-Z_]+\] /, '')
    .replaceAll(`${rootIndexMark}.`, '.')
    .trim();
}

function resolveHint(specifier: string, importer: string | undefined, context: ErrorContext): string {
  if (/^\.{0,2}\//.test(specifier)) return 'The file does not exist: check the path, including upper and lower case';
  if (specifier.startsWith('cloudflare:'))
    return `There are ${cloudflareModules.map((name) => `cloudflare:${name}`).join(', ')}; with import() it fails only where it is used`;
  const builtin = isNodeBuiltin(specifier.replace(/^node:/, ''));
  if (specifier.startsWith('node:') && !builtin) return 'Node has no module with this name';
  if (builtin && !context.nodeCompat) return 'This is a module of Node: add nodejs_compat to compatibility_flags';
  if (specifier.startsWith('#')) return 'Add this name to "imports" in package.json';
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  if (name === '__STATIC_CONTENT_MANIFEST')
    return 'This module belongs to Workers Sites: files in "out" are served without code here, so remove the import and the code that uses it';
  if (name.startsWith('virtual:'))
    return 'A Vite plugin creates this module: set "build" to the command that runs Vite, and "main" to the worker that it writes';
  if (!/^(?:@[\w.-]+\/)?[A-Za-z0-9][\w.-]*$/.test(name)) return 'No file and no package has this name';
  if (isInstalled(name, importer ?? join(context.containment.root, 'index')))
    return `Package ${name} is installed, but has no such export`;
  return `Run: npm i ${name}`;
}

function isInstalled(name: string, importer: string): boolean {
  for (let folder = dirname(importer); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'node_modules', name, 'package.json'))) return true;
    if (folder === dirname(folder)) return false;
  }
}

// Applies the tables of import-rules.ts and library-rules.ts: forbidden imports, import cycles, rows that nothing
// uses. No I/O.
import path from 'node:path';
import { builtinModules } from 'node:module';
import { arrowsOf, importCycles, readModules, resolveOwn } from '#cli/tasks/tools/import-graph.ts';
import { readImports, type ImportSpecifier } from '#cli/tasks/tools/imports.ts';
import { isOwnModule, type Sources } from '#cli/tasks/tools/sources.ts';
import { lineAt, type Finding } from './findings.ts';
import { zones, type Zone } from './import-rules.ts';
import { homes, quickly, unquarantined } from './library-rules.ts';

const TABLE = 'test/tidy/import-rules.ts';
const LIBRARY_TABLE = 'test/tidy/library-rules.ts';

/** Every import that the table forbids, and every import cycle. */
export function importFindings(sources: Sources): Finding[] {
  const findings: Finding[] = [];
  const arrows: { from: string; to: string }[] = [];
  for (const [file, text] of Object.entries(sources)) {
    if (!isOwnModule(file) || file.endsWith('.d.mts') || file.endsWith('.d.ts')) continue;
    let imports: readonly ImportSpecifier[];
    try {
      imports = readImports(file, text);
    } catch (error) {
      findings.push({ file, line: 0, message: `does not parse: ${(error as Error).message}` });
      continue;
    }
    for (const found of imports) {
      const target = resolveOwn(file, found.specifier);
      const message =
        target === null ? bareObjection(file, found, sources) : ownObjection(file, target, found, sources);
      if (message !== null) findings.push({ file, line: lineAt(text, found.start), message });
      // A type that two files need belongs to the lower one. Lazy imports run later.
      if (target !== null && found.kind === 'static') arrows.push({ from: file, to: target });
    }
  }
  for (const cycle of importCycles(arrows)) {
    findings.push({ file: cycle[0]!, line: 0, message: `is in an import cycle: ${cycle.join(' -> ')}` });
  }
  return findings;
}

function ownObjection(file: string, target: string, found: ImportSpecifier, sources: Sources): string | null {
  const { specifier } = found;
  if (specifier.startsWith('#') && !specifier.startsWith('#test/') && file.split('/')[0] === target.split('/')[0])
    return `imports ${specifier}: inside one folder, use a relative path`;
  if (specifier.startsWith('..') && file.split('/')[0] !== target.split('/')[0] && !hasOwnPackage(file, sources)) {
    return `imports ${specifier}: across top-level folders, use #${target}`;
  }
  const zone = zoneOf(file);
  if (zone === null) return `lies in a folder that test/tidy/import-rules.ts does not know: add a row for it`;
  const own = zone.prefix === 'packages/' ? `packages/${file.split('/')[1]}/` : zone.prefix;
  const inside = target.startsWith(own) && zoneOf(target)?.prefix === zone.prefix;
  const joins =
    zone.joins === true && target.startsWith('runtime/engine/') && !target.startsWith('runtime/engine/guest/');
  if (inside || joins || startsWithAny(target, mayOf(zone))) return null;
  if (startsWithAny(target, mayTypesOf(zone))) {
    return found.typeOnly ? null : `imports values from ${target}: ${zone.prefix} may import only types from there`;
  }
  return `imports ${target}: ${zone.prefix} may import ${listed(zone)}`;
}

function bareObjection(file: string, { specifier, typeOnly, kind }: ImportSpecifier, sources: Sources): string | null {
  const guest = zoneOf(file)?.prefix === 'runtime/engine/guest/';
  if (specifier.startsWith('node:') || builtinModules.includes(specifier)) {
    if (guest) return `imports ${specifier}: guest code runs inside the isolate, where Node's modules do not exist`;
    if (specifier === 'node:http' && !typeOnly && kind === 'static' && startsWithAny(file, quickly))
      return `imports node:http: that loads Node's HTTP client as well, write process.getBuiltinModule('node:http')`;
    return specifier.startsWith('node:')
      ? homeObjection(file, specifier)
      : `imports ${specifier}: write node:${specifier}`;
  }
  const name = packageName(specifier);
  const objection = homeObjection(file, name);
  if (objection !== null) return objection;
  return declared(file, name, sources) ? null : `imports ${name}: no package.json above it declares that dependency`;
}

function homeObjection(file: string, name: string): string | null {
  const allowed = homes[name];
  if (allowed === undefined || startsWithAny(file, allowed) || startsWithAny(file, unquarantined)) return null;
  return `imports ${name}: it stays in ${allowed.join(', ')}`;
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** What ships must be a dependency; tests, benches, tasks and what is bundled may use development dependencies. */
function declared(file: string, name: string, sources: Sources): boolean {
  const ships = !/^(?:test|bench|cli\/tasks|dashboard\/src|dashboard\/build\/build\.ts|web\/docs-site)/.test(file);
  const kinds = ['dependencies', 'optionalDependencies', 'peerDependencies', ...(ships ? [] : ['devDependencies'])];
  for (let folder = path.posix.dirname(file); ; folder = path.posix.dirname(folder)) {
    const text = sources[folder === '.' ? 'package.json' : `${folder}/package.json`];
    const manifest = text === undefined ? {} : (JSON.parse(text) as Record<string, Record<string, string>>);
    if (manifest['name'] !== undefined && String(manifest['name']) === name) return true;
    if (kinds.some((kind) => manifest[kind]?.[name] !== undefined)) return true;
    if (folder === '.') return false;
  }
}

function hasOwnPackage(file: string, sources: Sources): boolean {
  for (let folder = path.posix.dirname(file); folder !== '.'; folder = path.posix.dirname(folder)) {
    if (sources[`${folder}/package.json`] !== undefined) return true;
  }
  return false;
}

function zoneOf(file: string): Zone | null {
  let best: Zone | null = null;
  for (const zone of zones)
    if (file.startsWith(zone.prefix) && zone.prefix.length > (best?.prefix.length ?? 0)) best = zone;
  return best;
}

function startsWithAny(file: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => file.startsWith(prefix));
}

/** What a zone may import. */
export function mayOf({ may, floor = [] }: Zone): readonly string[] {
  return [...floor, ...may];
}

/** What a zone may import types of. */
export function mayTypesOf({ mayTypes = [], floorTypes = [] }: Zone): readonly string[] {
  return [...floorTypes, ...mayTypes];
}

function listed(zone: Zone): string {
  const all = [...mayOf(zone), ...mayTypesOf(zone).map((prefix) => `types of ${prefix}`)];
  return all.length === 0 ? 'nothing of ours but itself' : `only itself and ${all.join(', ')}`;
}

/** Rows of the table that no import needs: zones without files, permissions, and homes of libraries. */
export function unusedRowFindings(sources: Sources): Finding[] {
  const findings: Finding[] = [];
  const add = (message: string, file = TABLE): void => void findings.push({ file, line: 0, message });
  const modules = readModules(sources);
  const arrows = arrowsOf(modules).map(({ from, to, kind }) => ({ zone: zoneOf(from), to, isType: kind === 'type' }));
  for (const zone of zones) {
    if (![...modules.keys()].some((file) => zoneOf(file) === zone))
      add(`has a row for ${zone.prefix}, where no file is`);
    const own = arrows.filter(({ to, ...arrow }) => arrow.zone === zone && zoneOf(to) !== zone);
    const ofTypes = own.filter(({ to, isType }) => isType && !startsWithAny(to, mayOf(zone)));
    for (const prefix of zone.may)
      if (prefix !== 'core/' && !own.some(({ to }) => to.startsWith(prefix)))
        add(`lets ${zone.prefix} import ${prefix === '' ? 'everything' : prefix}, which it does not: remove that`);
    for (const prefix of zone.mayTypes ?? [])
      if (!ofTypes.some(({ to }) => to.startsWith(prefix)))
        add(`lets ${zone.prefix} import types of ${prefix}, which it does not: remove that`);
  }
  const bare = [...modules].flatMap(([file, { imports }]) =>
    imports.flatMap(({ specifier }) => (resolveOwn(file, specifier) === null ? [{ file, specifier }] : [])),
  );
  for (const [name, places] of Object.entries(homes))
    for (const place of places)
      if (!bare.some(({ file, specifier }) => file.startsWith(place) && nameOf(specifier) === name))
        add(`gives ${name} a home in ${place}, where nothing imports it: remove that`, LIBRARY_TABLE);
  return findings;
}

/** The name of a package, or of a module of Node. */
function nameOf(specifier: string): string {
  return specifier.startsWith('node:') ? specifier : packageName(specifier);
}

// The header of an archive and its manifest, the list of everything in the backup. Header and manifest are untrusted
// input and fully validated. Pure.
import type { Failure } from '#core/failure.ts';
import { Compile, type Static, Type } from '#core/typebox/typebox.mjs';
import { isDatabaseName } from '#runtime/databases/protocol/database-name.ts';
import { assetPathProblem } from '#artifacts/archive/artifact-path.ts';
import { backupError } from './backup-error.ts';

/** The format version that this platform writes, and the newest it reads. */
export const FORMAT = 1;
/** Maximum bytes of a content before compression. */
export const BLOB_BYTES_MAX = 4 * 1024 * 1024;
/** Maximum bytes of a manifest: a file entry takes about 250. */
export const MANIFEST_BYTES_MAX = 256 * 1024 * 1024;
/** The maximum number of columns of a Postgres table. */
const COLUMNS_MAX = 1600;

const closed = { additionalProperties: false } as const;
const hash = Type.String({ pattern: '^[0-9a-f]{64}$' });
const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const qualified = Type.String({ pattern: '^[a-z_][a-z0-9_]{0,62}\\.[a-z_][a-z0-9_]{0,62}$' });
const BOUND = "^(?:DEFAULT|FOR VALUES FROM \\('[0-9 :+.-]{4,40}'\\) TO \\('[0-9 :+.-]{4,40}'\\))$";
const identifier = Type.String({ pattern: '^[a-z_][a-z0-9_]{0,62}$' });

const headerSchema = Type.Object(
  {
    format: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    platform: Type.String({ maxLength: 100 }),
    createdAt: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' }),
    /** Encryption parameters; null if not encrypted. */
    encryption: Type.Union([
      Type.Null(),
      Type.Object(
        {
          method: Type.Literal('scrypt-aes-256-gcm'),
          salt: Type.String({ pattern: '^[0-9a-f]{32}$' }),
          /** Verifies a passphrase. */
          check: Type.String({ pattern: '^[0-9a-f]{32}$' }),
        },
        closed,
      ),
    ]),
  },
  closed,
);

/** Parts of a backup that are readable without its passphrase. */
export type BackupHeader = Static<typeof headerSchema>;

const partSchema = Type.Object(
  {
    /**
     * `table` of Postgres; `database` of a project; `index` and `content` of the files of projects on disk; `file` of
     * the data folder; `key`, a file of the data folder that is a secret.
     */
    kind: Type.Union([
      Type.Literal('table'),
      Type.Literal('database'),
      Type.Literal('index'),
      Type.Literal('content'),
      Type.Literal('file'),
      Type.Literal('key'),
    ]),
    name: Type.String({ minLength: 1, maxLength: 1024 }),
    bytes: count,
    sha256: hash,
    /** The contents with the part's bytes, in order. */
    blobs: Type.Array(hash, { maxItems: 1_000_000 }),
    /** For a table. */
    columns: Type.Optional(Type.Array(identifier, { maxItems: COLUMNS_MAX })),
    rows: Type.Optional(count),
    /** Partitions of the table with their ranges: only time ranges, no text that a server would execute. */
    partitions: Type.Optional(
      Type.Array(Type.Tuple([qualified, Type.String({ pattern: BOUND })]), { maxItems: 100_000 }),
    ),
  },
  closed,
);

/** One entry of a backup. */
export type Part = Static<typeof partSchema>;

const manifestSchema = Type.Object(
  {
    format: Type.Literal(FORMAT),
    platform: Type.String({ maxLength: 100 }),
    createdAt: Type.String({ maxLength: 40 }),
    /** Migrations of the tables; null if the backup has no tables. */
    schema: Type.Union([
      Type.Null(),
      Type.Array(Type.Object({ name: Type.String({ maxLength: 200 }), hash }, closed), { maxItems: 1_000_000 }),
    ]),
    /** Values of the tables' sequences. */
    sequences: Type.Array(Type.Tuple([qualified, count]), { maxItems: 100_000 }),
    /** First bytes of the hash of the key that encrypts variables, in hex; null if not known. */
    keyId: Type.Union([Type.Null(), Type.String({ pattern: '^[0-9a-f]{8}$' })]),
    /** Descriptions of platform data that the backup does not include. */
    leftOut: Type.Array(Type.String({ maxLength: 500 }), { maxItems: 100 }),
    parts: Type.Array(partSchema, { maxItems: 50_000_000 }),
  },
  closed,
);

/** The list of everything in a backup. */
export type Manifest = Static<typeof manifestSchema>;

const compiledHeader = Compile(headerSchema);
const compiledManifest = Compile(manifestSchema);

/** Paths of the secrets in a data folder. */
export const KEY_FILES: readonly string[] = [
  'secret',
  'secrets/auth-secret',
  'secrets/encryption-key',
  'secrets/first-run-token',
];

/** Folders of a data folder that are backed up file by file. */
export const FILE_FOLDERS: readonly string[] = ['routes', 'repositories', 'artifacts'];

/** @throws {Failure} `backup`: `newer` for a later format version, `damaged` for invalid input. */
export function parseHeader(text: string): BackupHeader {
  const value = parseJson(text, 'its header');
  const format = (value as { format?: unknown } | null)?.format;
  if (typeof format === 'number' && format > FORMAT)
    throw backupError(
      'newer',
      `The backup has format ${format}, which this version of the platform does not read (it reads ${FORMAT})`,
      'Restore it with the version of the platform that wrote it, or a later one.',
    );
  if (!compiledHeader.Check(value)) throw damaged('its header is not valid');
  return value;
}

/** @throws {Failure} `backup`: `damaged`, also for paths that would leave their folder. */
export function parseManifest(text: string): Manifest {
  const value = parseJson(text, 'its manifest');
  if (!compiledManifest.Check(value)) {
    const first = compiledManifest.Errors(value)[0];
    throw damaged(`its manifest is not valid (${first?.instancePath.slice(0, 100) ?? ''} ${first?.message ?? ''})`);
  }
  const seen = new Set<string>();
  for (const part of value.parts) {
    const problem = partProblem(part);
    if (problem !== null) throw damaged(`${part.kind} ${shown(part.name)} ${problem}`);
    const id = `${part.kind} ${part.name}`;
    if (seen.has(id)) throw damaged(`${part.kind} ${shown(part.name)} is there twice`);
    seen.add(id);
    if (part.bytes > part.blobs.length * BLOB_BYTES_MAX) throw damaged(`${shown(part.name)} is larger than its bytes`);
  }
  return value;
}

function partProblem({ kind, name, columns, rows }: Part): string | null {
  if (kind === 'table') {
    if (!/^[a-z_][a-z0-9_]{0,62}\.[a-z_][a-z0-9_]{0,62}$/.test(name)) return 'is not the name of a table';
    return columns === undefined || rows === undefined ? 'has no columns' : null;
  }
  if (kind === 'database') return isDatabaseName(name) ? null : 'is not the name of a database';
  if (kind === 'index') return name === 'files' ? null : 'is not the name of an index';
  if (kind === 'content') return /^[0-9a-f]{32}$/.test(name) ? null : 'is not the name of a content';
  if (kind === 'key') return KEY_FILES.includes(name) ? null : 'is not the name of a secret of a data folder';
  const problem = assetPathProblem(name);
  if (problem !== null) return problem;
  if (!FILE_FOLDERS.some((folder) => name.startsWith(`${folder}/`))) return 'is not in a folder that backups contain';
  if (name.startsWith('repositories/') && !/^repositories\/[^/]+\.git\/./.test(name)) return 'is not in a repository';
  // A repository's hooks are programs: they are recreated, never restored.
  return /^repositories\/[^/]+\/hooks(?:\/|$)/.test(name) ? 'is a program' : null;
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw damaged(`${what} is no JSON`);
  }
}

/** A name, shortened for use in messages. */
export function shown(name: string): string {
  return JSON.stringify(name.length > 120 ? `${name.slice(0, 117)}...` : name);
}

export function damaged(what: string): Failure<'backup'> {
  return backupError(
    'damaged',
    `The backup cannot be used: ${what}`,
    'Nothing was changed. Use another backup, or another copy of this one.',
  );
}

// Checks that need only the data folder and variables: interrupted operations, backups, secrets and their file
// permissions, certificates. For `platform doctor` and the operator's page; no finding includes a secret.
import { X509Certificate } from 'node:crypto';
import { existsSync, globSync, lstatSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { aiSettingsFrom, type AiSettings } from '#core/ai-settings.ts';
import { backupPlan, lastBackup } from '#core/process/backup-runs.ts';
import { readJson, RESTORE_FILE, UPGRADE_FILE } from '#core/process/platform-record.ts';
import { encryptionKeyProblem, secretProblem } from '#core/process/generated-secrets.ts';
import { readReplicaState } from '#core/process/replica-state.ts';
import { parseDatabaseUrl } from '#core/database-url.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const DAY_MS = 86_400_000;
/** A backup older than this is reported. */
const BACKUP_AGE_DAYS_MAX = 7;
/** Let's Encrypt certificates are renewed 30 days before they expire. */
const CERTIFICATE_DAYS_SOON = 14;
const CERTIFICATES_MAX = 1000;
/** A record older than the first limit is ignored; replicas that lag more than the second limit are reported. */
const [REPLICAS_MS_OLD, REPLICAS_MS_BEHIND] = [120_000, 60_000];
/** Paths in the data folder that only the platform's user may read. */
const PRIVATE = [
  'secret',
  'secrets',
  'private-port.token',
  'routes',
  'artifacts',
  'databases',
  'files',
  'backups',
  'postgres',
];

export function checkInstallation(environment: Environment, folder: string, now: number): Finding[] {
  return [
    ...checkUnfinished(folder),
    checkBackups(environment, folder, now),
    ...checkReplicas(environment, folder, now),
    ...checkSecrets(environment),
    checkModes(folder),
    ...checkCertificates(environment, folder, now),
    ...checkAi(environment),
  ];
}

/** Whether replicas of databases are up to date; no result if there are none. */
export function checkReplicas(environment: Environment, folder: string, now: number): Finding[] {
  const isOn = Object.entries(environment).some(([name, value]) => name.startsWith('DB_REPLICA_S3_') && value?.trim());
  if (!isOn) return [];
  const state = readReplicaState(environment['DB_STORAGE_DIR']?.trim() || path.join(folder, 'databases'));
  const advice = 'Check the bucket of DB_REPLICA_S3_*, and look for `databases:` in the log.';
  if (state === null) return [warn('replicas', 'Databases were never replicated', advice)];
  const age = now - Date.parse(state.at);
  // The service is stopped, or on another machine.
  if (age > REPLICAS_MS_OLD) return [ok('replicas', `Databases were last replicated at ${state.at}`)];
  const behind = `${state.waiting} databases wait, the first for ${Math.round(state.lagMs / 1000)} s`;
  if (state.problem !== null)
    return [fail('replicas', `Databases are not replicated (${state.problem}); ${behind}`, advice)];
  if (state.lagMs > REPLICAS_MS_BEHIND) return [warn('replicas', `Replicas are behind: ${behind}`, advice)];
  return [ok('replicas', 'Replicas of databases are up to date')];
}

function checkUnfinished(folder: string): Finding[] {
  const step = (readJson(path.join(folder, UPGRADE_FILE)) as { step?: string } | null)?.step;
  return [
    ...(existsSync(path.join(folder, RESTORE_FILE))
      ? [fail('restore', `A restore into ${folder} was interrupted`, 'Run `platform restore <backup> --force` again.')]
      : []),
    ...(step === 'migrate' || step === 'undo'
      ? [fail('upgrade', `An upgrade of ${folder} was interrupted`, 'Run `platform upgrade --resume`, or `--undo`.')]
      : []),
  ];
}

/** The age of the last backup, and whether it succeeded. */
export function checkBackups(environment: Environment, folder: string, now: number): Finding {
  const last = lastBackup(folder);
  const scheduled = (environment['BACKUP_CRON']?.trim() ?? '') !== '' || (backupPlan(folder)?.cron ?? null) !== null;
  const advice = scheduled
    ? 'Check the log for `Backup failed`, and run `platform backup`.'
    : 'Run `platform backup`, or set BACKUP_CRON and BACKUP_TARGET.';
  if (last === null) return warn('backup', 'No backup exists yet', advice);
  const ageOf = (at: string): string => {
    const hours = Math.max(0, Math.floor((now - Date.parse(at)) / 3_600_000));
    return hours < 48 ? `${hours} h old` : `${Math.floor(hours / 24)} days old`;
  };
  const { run, goodAt } = last;
  const good = goodAt === null ? 'no backup ever succeeded' : `the last successful one is ${ageOf(goodAt)}`;
  if (run.error !== null) return fail('backup', `The last backup failed (${run.error}); ${good}`, advice);
  const message = `The last backup is ${ageOf(run.endedAt!)}: ${run.location}`;
  return now - Date.parse(run.endedAt!) > BACKUP_AGE_DAYS_MAX * DAY_MS
    ? warn('backup', message, advice)
    : ok('backup', message);
}

/** Checks that secrets given as variables are not guessable. */
export function checkSecrets(environment: Environment): Finding[] {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const given = ['AUTH_SECRET', 'GITHOST_WEBHOOK_SECRET', 'PRIVATE_PORT_TOKEN', 'DB_SERVICE_TOKEN', 'SQLDB_PASSWORD'];
  const problems = [
    ...given.filter((name) => get(name) !== '').map((name) => secretProblem(name, get(name))),
    get('ENCRYPTION_KEY') === '' ? null : encryptionKeyProblem(get('ENCRYPTION_KEY')),
    passwordProblem(get('DATABASE_URL')),
  ].filter((problem) => problem !== null);
  if (problems.length === 0) return [ok('secrets', 'No weak secrets')];
  return problems.map((problem) =>
    warn(
      'secrets',
      problem.split(':')[0]!,
      'Create another secret: `openssl rand -hex 32`. ENCRYPTION_KEY can list both, the new one first.',
    ),
  );
}

function passwordProblem(url: string): string | null {
  const parsed = parseDatabaseUrl(url);
  const isLocal = parsed === null || parsed.searchParams.get('host')?.startsWith('/') === true;
  if (isLocal || decodeURIComponent(parsed.password).length >= 12) return null;
  return 'DATABASE_URL has a password with fewer than 12 characters';
}

/** Checks whether other users can read the platform's private files. */
export function checkModes(folder: string): Finding {
  const open = PRIVATE.filter((name) => {
    const found = lstatSync(path.join(folder, name), { throwIfNoEntry: false });
    return found !== undefined && (found.mode & 0o077) !== 0;
  });
  if (open.length === 0) return ok('file modes', 'Only the user of the platform can read secrets and data');
  const paths = open.map((name) => path.join(folder, name)).join(' ');
  return fail('file modes', `Other users can read ${open.join(', ')} in ${folder}`, `chmod -R go-rwx ${paths}`);
}

/** AI providers, and the models of `auto`; no findings if the gateway runs on another machine. */
export function checkAi(environment: Environment): Finding[] {
  let settings: AiSettings;
  try {
    settings = aiSettingsFrom(environment);
  } catch (error) {
    return [fail('ai', (error as Error).message.replaceAll('\n', '; '), 'docs/ai-gateway.md lists the variables.')];
  }
  const { providers, pricesFile, auto } = settings;
  if (providers.length === 0)
    return (environment['AI_GATEWAY_URL']?.trim() ?? '') !== ''
      ? []
      : [
          warn(
            'ai',
            'No AI provider is set: model calls fail, except with `npm start`, where the mock provider answers them',
            'Set AI_PROVIDER_<NAME>_KEY and AI_AUTO: docs/ai-gateway.md lists the variables.',
          ),
        ];
  const isMock = providers.every(({ kind }) => kind === 'mock');
  const open = providers.filter(({ url, key }) => key !== '' && url.startsWith('http:') && !isOfMachine(url));
  return [
    ...(pricesFile !== null && !isJsonFile(pricesFile)
      ? [fail('ai', `AI_PRICES_FILE ${pricesFile} cannot be read as JSON`, 'docs/ai-gateway.md has an example.')]
      : []),
    ...open.map(({ name }) =>
      warn('ai', `The key of the AI provider ${name} is sent over plain HTTP`, 'Use an https URL.'),
    ),
    ...(auto.length === 0
      ? [warn('ai', 'The model "auto" is not configured', 'Set AI_AUTO, such as AI_AUTO=openai/gpt-5-mini.')]
      : []),
    ...(open.length === 0
      ? [
          ok(
            'ai',
            `AI providers: ${providers.map(({ name }) => name).join(', ')}${isMock ? ', which asks no model' : ''}`,
          ),
        ]
      : []),
  ];
}

const isOfMachine = (url: string): boolean => /^(?:localhost|127\..*|\[::1\])$/.test(new URL(url).hostname);

function isJsonFile(file: string): boolean {
  try {
    JSON.parse(readFileSync(file, 'utf8'));
    return true;
  } catch {
    return false;
  }
}

/** Certificates named by variables, and the certificates of the platform's own edge. */
export function checkCertificates(environment: Environment, folder: string, now: number): Finding[] {
  const named = Object.entries(environment).flatMap(([name, file]) =>
    /_CERT(?:IFICATE)?_FILE$/.test(name) && file ? [[name, file] as const] : [],
  );
  const own = globSync('{caddy,edge}/**/*.crt', { cwd: folder })
    .slice(0, CERTIFICATES_MAX)
    .map((name) => [name, path.join(folder, name)] as const);
  const findings: Finding[] = [];
  let well = 0;
  for (const [name, file] of [...named, ...own]) {
    let days: number;
    try {
      days = Math.floor((Date.parse(new X509Certificate(readFileSync(file)).validTo) - now) / DAY_MS);
    } catch {
      findings.push(fail('certificates', `${name} (${file}) cannot be read as a certificate`, 'Use a PEM file.'));
      continue;
    }
    if (days < 0)
      findings.push(
        fail(
          'certificates',
          `${name} expired ${-days} days ago`,
          'Renew the certificate: `docs/operating.md` explains how.',
        ),
      );
    else if (days < CERTIFICATE_DAYS_SOON)
      findings.push(
        warn(
          'certificates',
          `${name} expires in ${days} days`,
          'Renew the certificate, or check why its renewal fails.',
        ),
      );
    else well++;
  }
  return well > 0
    ? [...findings, ok('certificates', `${well} are valid for ${CERTIFICATE_DAYS_SOON} days or more`)]
    : findings;
}

// Adds this machine to an installation: differences are refused by name, then a token provides the shared settings.
// Called by `platform join`, which writes the settings.
import { encryptionKeys } from '#core/encryption.ts';
import { openPostgres, type Session } from '#postgres/connection.ts';
import { countMigrations } from '#postgres/ledger.ts';
import { clockDifference } from '#postgres/machine.ts';
import { schemaVersion } from '#postgres/schema-version.ts';
import { supervisorConfig } from '#runtime/supervisor/engines/configuration.ts';
import { machineSettings } from '#runtime/supervisor/machine/settings.ts';
import { privatePortSettings } from '#runtime/supervisor/private-port/settings.ts';
import type { Variables } from './shared-settings.ts';
import { useMachineToken } from './token.ts';

interface JoinOptions {
  readonly token: string;
  /** The current variables of this machine, with `DATABASE_URL`, and its own name, address and parts. */
  readonly own: Variables;
  readonly version: string;
  /** Stores all variables; the token stays unused if it fails. */
  readonly write: (variables: Variables) => void;
  /** For tests. */
  readonly now?: () => number;
}

/** A machine that can start. */
interface JoinedMachine {
  readonly name: string;
  readonly address: string | null;
  /** Names of the variables from the token. */
  readonly brought: readonly string[];
}

/** @throws {Error} that names the difference and the solution. Nothing is changed. */
export async function joinInstallation(options: JoinOptions): Promise<JoinedMachine> {
  const { own, token, write } = options;
  const url = own['DATABASE_URL'] ?? '';
  if (url === '' || url.toLowerCase() === 'none')
    throw new Error('DATABASE_URL is not set: set it to the URL of the Postgres of the installation');
  const name = own['MACHINE_NAME'] ?? '';
  const sql = openPostgres({ url, name: 'platform join', connectionsMax: 1 });
  try {
    return await sql.transaction(async (tx) => {
      await checkSchema(tx, options.version);
      const clock = await clockDifference(tx, limitsOf(own), options.now);
      if (clock !== null) throw new Error(clock);
      await checkName(tx, name);
      const shared = await useMachineToken(tx, token, name);
      checkKey(own['ENCRYPTION_KEY'] ?? '', shared['ENCRYPTION_KEY'] ?? '');
      const all = { ...shared, ...own };
      const { address } = checkStart(all);
      write(all);
      return {
        name,
        address,
        brought: Object.keys(shared)
          .filter((one) => own[one] === undefined)
          .toSorted(),
      };
    });
  } finally {
    await sql.close();
  }
}

function limitsOf(own: Variables): number {
  return supervisorConfig({ MACHINE_CLOCK_MS_MAX: own['MACHINE_CLOCK_MS_MAX'] }).limits.machine.clockMsMax;
}

async function checkSchema(tx: Session, version: string): Promise<void> {
  const theirs = await countMigrations((text) => tx.all(text));
  if (theirs === schemaVersion()) return;
  if (theirs === null || theirs < 45)
    throw new Error(
      'The database of DATABASE_URL belongs to no installation that machines can join: use the URL of another database',
    );
  const [machine] = await tx.all<{ version: string }>(
    `SELECT version FROM control.machine_now WHERE status <> 'lost' ORDER BY name LIMIT 1`,
  );
  throw new Error(
    `The installation has schema ${theirs}${machine === undefined ? '' : ` (version ${machine.version})`}, this program ${schemaVersion()} (version ${version}): install the same version here`,
  );
}

async function checkName(tx: Session, name: string): Promise<void> {
  const [taken] = await tx.all<{ private_origin: string | null }>(
    `SELECT private_origin FROM control.machine_now WHERE name = $1 AND status <> 'lost'`,
    name,
  );
  if (taken !== undefined)
    throw new Error(
      `Another machine is called ${name}${taken.private_origin === null ? '' : ` (${taken.private_origin})`}: choose another --name`,
    );
}

/** @param own the id of the machine's installation, if it has one. */
function checkKey(own: string, shared: string): void {
  if (own === '') return;
  const ids = (text: string): string[] => encryptionKeys(text).all.map(({ id }) => id.toString('hex'));
  if (!ids(own).some((id) => ids(shared).includes(id)))
    throw new Error(
      'ENCRYPTION_KEY of this machine differs from that of the installation: remove it, because the token contains it',
    );
}

/** Runs the same check as a start of the platform. @throws {Error} */
function checkStart(all: Variables): { readonly address: string | null } {
  const config = supervisorConfig(all);
  const settings = privatePortSettings(all, () => '');
  return machineSettings(all, {
    ...(settings !== null && { HOST: settings.host }),
    ...(config.parts.has('handler') && { HANDLER_HOST: config.host }),
  });
}

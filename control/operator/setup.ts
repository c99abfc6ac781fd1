// The first setup of an installation: the state of each step, computed from the platform, and the DNS records of a
// domain. Called by api/routes/operator-setup.ts. Changes nothing.
import { networkInterfaces } from 'node:os';
import { isPublicAddress } from '#core/egress.ts';
import { backupPlan, backupRuns } from '#core/process/backup-runs.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { readReadiness } from '../records/ai-readiness.ts';
import { deploymentUrls } from '../records/deployment-urls.ts';
import { readMailState } from '../records/mail.ts';
import { readPassword } from '../records/passwords.ts';
import { readSetupMarks, setupSteps, type SetupStepName } from '../records/setup.ts';

/** A step. */
interface SetupStep {
  readonly name: SetupStepName;
  readonly state: 'done' | 'open' | 'skipped';
  readonly message: string;
  /** Instructions; null if there is nothing to do. */
  readonly advice: string | null;
}

/** The operator who views the setup. */
interface Looking {
  readonly accountId: string;
  /** The account's first organization, or null. */
  readonly organizationId: string | null;
}

/** Result of a check; without `advice`, the step is done. */
type Found = readonly [message: string, advice?: string];
type Check = (deps: Dependencies, looking: Looking) => Promise<Found>;

const LOCAL = /(?:^|\.)localhost$/;

const checks: Readonly<Record<SetupStepName, Check>> = {
  async account({ sql }, { accountId }) {
    const known = await readPassword(sql, accountId);
    const [identity] = await sql<{ login: string }[]>`
      SELECT login FROM control.identity WHERE account_id = ${accountId} LIMIT 1`;
    if (known !== null) return [`You sign in as ${known.username}, with a password`];
    const [passkey] = await sql`SELECT FROM control.passkey WHERE account_id = ${accountId} LIMIT 1`;
    if (passkey !== undefined) return ['You sign in with a passkey'];
    if (identity !== undefined) return [`You sign in as ${identity.login}, by the Git host`];
    const [oidc] = await sql`SELECT FROM control.oidc_identity WHERE account_id = ${accountId} LIMIT 1`;
    if (oidc !== undefined) return ['You sign in with OpenID Connect'];
    return ['You sign in with the first-run token', 'Set a username and a password.'];
  },
  async domain(deps) {
    const { domain } = deps.addresses;
    if (LOCAL.test(domain)) return ['Projects are served on localhost', 'Set HANDLER_DOMAIN to a domain of yours.'];
    const { isReady, message } = await checkDns(deps, domain);
    return isReady ? [message] : [message, 'Create the DNS records.'];
  },
  https: async ({ addresses: { ui, protocol } }) =>
    ui.startsWith('https:') && protocol === 'https'
      ? ['Dashboard and projects are served over HTTPS']
      : ['Dashboard or projects are served over HTTP', 'Set PUBLIC_HTTPS=on once the domain points here.'],
  async 'git-host'({ git, sql }) {
    const own = await sql<{ url: string }[]>`SELECT url FROM control.git_host ORDER BY created_at LIMIT 5`;
    const urls = [...(git.gitHost === null ? [] : [git.gitHost.url]), ...own.map(({ url }) => url)];
    return urls.length > 0
      ? [`Connected to ${urls.map((url) => new URL(url).host).join(', ')}`]
      : ['No Git host is connected: projects deploy by the CLI and by git push', 'Connect one.'];
  },
  async ai(deps, { organizationId }) {
    if (organizationId === null) return ['You have no organization', 'Create an organization.'];
    const { state, advice } = await readReadiness(deps, organizationId);
    if (state === 'ready') return ['AI requests are answered by a provider'];
    if (state === 'mock') return ['AI requests are answered by the mock provider'];
    return ['AI requests fail: no provider is set up', advice ?? 'Add a provider.'];
  },
  async backups({ folder }) {
    const plan = backupPlan(folder);
    if (plan === null || plan.cron === null)
      return ['No backups are scheduled', 'Set BACKUP_TARGET and BACKUP_CRON, or create backups with the CLI.'];
    const last = backupRuns(folder).find(({ endedAt }) => endedAt !== null);
    if (last === undefined) return [`The first backup to ${plan.target} is due`, 'Back up now to test the settings.'];
    return last.error === null
      ? [`Backed up to ${plan.target}`]
      : [`The last backup failed: ${last.error}`, 'Repair it.'];
  },
  async mail({ mail, sql }) {
    if (!mail.isOn()) return ['No mail is set up', 'Enter a mail server.'];
    const { sent, failed } = await readMailState(sql);
    if (failed !== null && failed.at > (sent?.at ?? 0))
      return [`The last email was not sent: ${failed.error}`, 'Check the mail server.'];
    return sent === null ? ['Mail is set up, but no email was sent yet', 'Send a test.'] : ['Emails are sent'];
  },
  async invitations({ sql }) {
    const [row] = await sql<{ accounts: number; invitations: number }[]>`
      SELECT (SELECT count(*)::int FROM control.account) AS accounts,
        (SELECT count(*)::int FROM control.invitation WHERE expires_at > now()) AS invitations`;
    const { accounts, invitations } = row!;
    if (accounts > 1) return [`${accounts} people have an account`];
    return invitations > 0
      ? [`${invitations} open ${invitations === 1 ? 'invitation' : 'invitations'}`]
      : ['You are the only account', 'Invite a colleague by a link.'];
  },
  async example(deps) {
    const [row] = await deps.sql<{ name: string; id: string; branch: string }[]>`
      SELECT project.name, deployment.id, deployment.branch FROM control.project
        JOIN control.deployment ON deployment.id = production_deployment_id
       WHERE project.deleted_at IS NULL ORDER BY project.created_at DESC LIMIT 1`;
    if (row === undefined) return ['Nothing is deployed yet', 'Deploy an example.'];
    const [url] = deploymentUrls(deps.addresses, row.name, { id: row.id, branch: row.branch, isProduction: true });
    return [`${row.name} is live at ${url}`];
  },
};

/** The steps with their state. */
export async function readSetup(
  deps: Dependencies,
  looking: Looking,
): Promise<{ readonly isFinished: boolean; readonly steps: SetupStep[] }> {
  const { skipped, isFinished } = await readSetupMarks(deps.sql);
  const steps = await Promise.all(
    setupSteps.map(async (name): Promise<SetupStep> => {
      const [message, advice = null] = await checks[name](deps, looking);
      const state = advice === null ? 'done' : skipped.has(name) ? 'skipped' : 'open';
      return { name, state, message, advice };
    }),
  );
  return { isFinished, steps };
}

/** DNS of a domain for projects: the records to create, and whether they point to this platform. */
interface DnsCheck {
  readonly records: readonly { readonly type: 'A' | 'AAAA'; readonly name: string; readonly value: string }[];
  readonly found: readonly string[];
  readonly isReady: boolean;
  readonly message: string;
}

/** Looks a domain up now. Never throws. */
export async function checkDns({ names, addresses }: Dependencies, domain: string): Promise<DnsCheck> {
  const own = ownAddresses(addresses.publicAddresses ?? []);
  const records = own.flatMap((value) => {
    const type = value.includes(':') ? ('AAAA' as const) : ('A' as const);
    return [domain, `*.${domain}`].map((name) => ({ type, name, value }));
  });
  let found: readonly string[];
  try {
    // Looks up a name below the domain that no project can have.
    found = await names.addresses(`platform--address.${domain}`);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return { records, found: [], isReady: false, message: `DNS does not answer for ${domain}: ${code}` };
  }
  if (found.length === 0) return { records, found, isReady: false, message: `*.${domain} has no addresses yet` };
  const list = found.join(', ');
  const isReady = own.length === 0 || found.some((address) => own.includes(address));
  return {
    records,
    found,
    isReady,
    message: isReady
      ? `*.${domain} leads to ${list}`
      : `*.${domain} leads to ${list}, and this platform is at ${own.join(', ')}`,
  };
}

/** PUBLIC_ADDRESSES, or the public addresses of this machine; empty behind a router. */
function ownAddresses(given: readonly string[]): readonly string[] {
  if (given.length > 0) return given;
  return Object.values(networkInterfaces())
    .flat()
    .flatMap((one) => (one !== undefined && !one.internal && isPublicAddress(one.address) ? one.address : []));
}

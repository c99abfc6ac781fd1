// The dashboard of the platform that the files of test/browser/ share (browser-suite.ts), for one of them: with an
// organization of its own, whose owner is an operator, as on a platform that has just been started.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { newId } from '#control/records/ids.ts';
import { issueToken } from '#control/sign-in/tokens.ts';
import { findEmbeddedPostgres } from '#postgres/embedded.ts';
import { openSql } from '#postgres/sql.ts';
import { openDashboardBrowser, signIn, type DashboardBrowser } from './dashboard-browser.ts';
import { platformAt, type Json, type WholePlatform } from './whole-platform.ts';

/** Variable with a {@link SharedPlatform} as JSON. */
export const platformVariable = 'TEST_SHARED_PLATFORM';

/** The platform as a file finds it. */
export interface SharedPlatform {
  readonly folder: string;
  readonly ports: WholePlatform['ports'];
  /** Where the operator's collector says what it got. */
  readonly collectorUrl: string;
}

/** A dashboard, and the platform behind it as the owner of the file's organization has it. */
export interface SharedDashboard extends DashboardBrowser {
  /** Calls are made by the owner; what the file writes lies below `folder`. */
  readonly platform: ReturnType<typeof platformAt>;
  readonly organization: Json;
  /** Of the platform: its Postgres is in it. */
  readonly dataFolder: string;
  /** Where the operator's collector says what it got. */
  readonly collectorUrl: string;
}

/**
 * Signs in as the owner of an organization that is made now.
 *
 * @param name of the organization; of one file
 * @param login of the owner
 */
export async function openSharedDashboard(name: string, login = `admin-of-${name}`): Promise<SharedDashboard> {
  const { folder: whole, ports, collectorUrl } = JSON.parse(process.env[platformVariable]!) as SharedPlatform;
  const dataFolder = path.join(whole, 'data');
  const token = await addOwner(dataFolder, name, login);
  const folder = path.join(whole, 'files', name);
  mkdirSync(folder, { recursive: true });
  const environment: NodeJS.ProcessEnv = {
    ...process.env,
    PLATFORM_HOME: path.join(folder, 'home'),
    PLATFORM_API_URL: `http://localhost:${ports.api}`,
    PLATFORM_API_TOKEN: token,
    NO_COLOR: '1',
  };
  const platform = platformAt({ folder, ports, token, environment });
  const { organizations } = await platform.call('GET', '/user');
  const origin = `http://localhost:${ports.ui}`;
  const dashboard = await openDashboardBrowser(origin, (page) => signIn(page, origin, token));
  return { ...dashboard, platform, organization: organizations[0], dataFolder, collectorUrl };
}

/** An organization with its owner, as the first start makes them. @returns the owner's token */
async function addOwner(dataFolder: string, name: string, login: string): Promise<string> {
  const { url } = findEmbeddedPostgres(path.join(dataFolder, 'postgres'))!;
  const sql = openSql({ url, name: 'test', connectionsMax: 1 });
  try {
    return await sql.begin(async (tx) => {
      const [accountId, organizationId] = [newId('account'), newId('organization')];
      // Where builds cannot be confined, only such an organization builds.
      await tx`
        INSERT INTO control.organization (id, slug, name, is_first) VALUES (${organizationId}, ${name}, ${name}, true)`;
      await tx`
        INSERT INTO control.account (id, login, name, is_admin)
        VALUES (${accountId}, ${login}, 'Administrator', true)`;
      await tx`
        INSERT INTO control.membership (organization_id, account_id, role)
        VALUES (${organizationId}, ${accountId}, 'owner')`;
      // Signing in leads to the projects.
      await tx`INSERT INTO control.setup (step) VALUES ('finished') ON CONFLICT DO NOTHING`;
      // All files sign in from one address, where few tokens are taken.
      await tx`DELETE FROM control.rate WHERE key LIKE 'token:%'`;
      const issued = await issueToken(tx, { accountId, tokenId: null, name: 'First start', days: null });
      return issued!.secret;
    });
  } finally {
    await sql.end();
  }
}

// A control plane whose projects are connected to repositories of a Git host of the tests. Deliveries come when the
// test sends them; what follows is done by `work`, or by the loops of the process where the test starts them.
import { seal } from '#core/encryption.ts';
import { gitConfigurationFrom } from '#git/configuration.ts';
import { workOnDeliveries } from '#control/git-host/deliveries.ts';
import { workOnReports } from '#control/git-host/reports.ts';
import type { Dependencies } from '#control/process/dependencies.ts';
import { startControl, type TestControl } from './control.ts';
import { startGitHost, type TestGitHost } from './git-host.ts';
import type { HostedInstallation, HostedRepository } from './git-host-state.ts';
import { pullRequestBody, pushBody, repositoryBody, signDelivery, type Delivery } from './git-host-payloads.ts';

/** A deployment, as far as these tests go. */
export interface DeploymentRow {
  readonly id: string;
  readonly status: string;
  readonly reason: string | null;
  readonly error_message: string | null;
  readonly target: string;
  readonly branch: string;
  readonly commit_sha: string;
  readonly commit_message: string;
  readonly author: string;
  readonly pull_request: number | null;
  readonly is_fork: boolean;
  readonly source: string;
}

/** The two of them. */
export interface ConnectedHost {
  readonly control: TestControl;
  readonly host: TestGitHost;
  readonly installation: HostedInstallation;
  /** Makes an account somebody on the Git host. */
  signIn(accountId: string, login: string): Promise<void>;
  /** A repository and a project that is connected to it, by the API. */
  connect(
    name: string,
    options?: { readonly configPath?: string; readonly repository?: HostedRepository },
  ): Promise<{
    readonly projectId: string;
    readonly repositoryId: string;
    readonly repository: HostedRepository;
  }>;
  send(delivery: Delivery): Promise<{ readonly status: number; readonly body: { outcome?: string; code?: string } }>;
  /** Signs, sends, and works on it. @returns the outcome in the delivery's row */
  deliver(event: string, payload: unknown, id?: string): Promise<string>;
  /** Commits and tells of it. @returns the commit */
  push(repository: HostedRepository, branch: string, files: Record<string, string>, message?: string): Promise<string>;
  pushBody(repository: HostedRepository, branch: string, before: string | null, after: string | null): object;
  pullRequestBody: typeof pullRequestBody;
  repositoryEvent(repository: HostedRepository, action: string, more?: object): object;
  deployments(projectId: string): Promise<DeploymentRow[]>;
  /** Does all that is due. */
  work(): Promise<void>;
  close(): Promise<void>;
}

/** Starts both. @param variables of Git besides those of the host. */
export async function startConnectedHost(variables: Readonly<Record<string, string>> = {}): Promise<ConnectedHost> {
  const host = await startGitHost();
  // Engines that have read every route, and hold nothing.
  const privatePort: Dependencies['privatePort'] = {
    ask: <Body>() => Promise.resolve({ status: 200, body: { routed: true, removed: {} } as Body }),
  };
  const control = await startControl({ git: gitConfigurationFrom({ ...host.variables, ...variables }), privatePort });
  const { sql, deps } = control;
  const installation = host.installation('acme', ['ada']);
  const url = 'http://localhost:4002/webhooks/git-host';

  const signIn: ConnectedHost['signIn'] = async (accountId, login) => {
    const subject = String(host.user(login).id);
    const token = JSON.stringify({ accessToken: host.userToken(login), refreshToken: null, expiresAt: null });
    const sealed = seal(deps.keys, token, `identity:git-host:${subject}`);
    await sql`INSERT INTO control.identity (provider, subject, account_id, login, access_token)
      VALUES ('git-host', ${subject}, ${accountId}, ${login}, ${sealed})`;
  };
  await signIn(control.owner.accountId, 'ada');

  const work: ConnectedHost['work'] = async () => {
    while ((await workOnDeliveries(deps)) > 0);
    while ((await workOnReports(deps)) > 0);
  };
  const send: ConnectedHost['send'] = async ({ headers, body }) => {
    const response = await control.fetch(new Request(url, { method: 'POST', headers, body }));
    return { status: response.status, body: (await response.json()) as { outcome?: string; code?: string } };
  };
  const deliver: ConnectedHost['deliver'] = async (event, payload, id) => {
    const delivery = signDelivery(host.webhookSecret, event, payload, id);
    const { status, body } = await send(delivery);
    if (status !== 202) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
    await work();
    const [row] = await sql<{ outcome: string }[]>`
      SELECT outcome FROM control.webhook_received WHERE delivery_id = ${delivery.headers['x-github-delivery']!}`;
    return row?.outcome ?? body.outcome!;
  };
  return {
    control,
    host,
    installation,
    signIn,
    send,
    deliver,
    work,
    pullRequestBody,
    async connect(name, { configPath = '', repository = host.repository(`acme/${name}`, installation) } = {}) {
      const { organizationId } = control;
      const made = await control.call('POST', '/repositories', {
        organizationId,
        source: 'git-host',
        installationId: String(installation.id),
        hostId: String(repository.id),
      });
      if (made.status !== 201) throw new Error(JSON.stringify(made.body));
      const project = await control.call('POST', '/projects', { name, organizationId });
      const projectId: string = project.body.id;
      const repositoryId: string = made.body.repository.id;
      const body = { repositoryId, configPath };
      const connected = await control.call('POST', `/projects/${projectId}/repository`, body);
      if (connected.status !== 200) throw new Error(JSON.stringify(connected.body));
      return { projectId, repositoryId, repository };
    },
    async push(repository, branch, files, message = 'Change') {
      const before = host.tip(repository, branch);
      const after = host.commit(repository, { branch, files, message });
      await deliver('push', pushBody(host.state, repository, branch, before, after));
      return after;
    },
    pushBody: (repository, branch, before, after) => pushBody(host.state, repository, branch, before, after),
    repositoryEvent: (repository, action, more = {}) => ({
      action,
      repository: { ...repositoryBody(repository), updated_at: new Date().toISOString() },
      installation: { id: repository.installationId },
      sender: { login: 'ada', id: 1 },
      ...more,
    }),
    async deployments(projectId) {
      return sql<DeploymentRow[]>`
        SELECT id, status, reason, error_message, target, branch, commit_sha, commit_message, author, pull_request,
               is_fork, source
          FROM control.deployment WHERE project_id = ${projectId} ORDER BY created_at, id`;
    },
    async close() {
      await control.close();
      await host.close();
    },
  };
}

// Alerts over a control plane, for tests: each test has a project, a receiver of deliveries, and a loop that delivers.
import assert from 'node:assert/strict';
import { defaultLimits } from '#core/limits.ts';
import { deliverAlerts } from '#control/alerts/deliver.ts';
import type { Dependencies } from '#control/process/dependencies.ts';
import { newId } from '#control/records/ids.ts';
import { startControl, type TestControl } from './control.ts';
import { openHttpReceiver, type HttpReceiver } from './http-receiver.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- what the API answered
type Json = any;

/** Alerts of the project of the current test. */
export interface TestAlerts {
  readonly control: TestControl;
  readonly project: { readonly id: string; readonly name: string };
  readonly receiver: HttpReceiver;
  /** Makes the project and the receiver of a test, and delivers until `end`. */
  begin(): Promise<void>;
  end(): Promise<void>;
  /** Delivers as if the platform had been started with this AUTH_MAIL_URL, until the end of the test. */
  mailBy(url: string): Promise<void>;
  /** Path below the project. */
  at(what: string): string;
  /** Creates something. @returns it. */
  made(path: string, body: object): Promise<Json>;
  makeChannel(kind: string, more?: object): Promise<Json>;
  makeRule(more: object): Promise<Json>;
  /** The alerts of the project, newest first. */
  history(): Promise<Json[]>;
  close(): Promise<void>;
}

/** Starts the control plane. @param overrides of its dependencies. */
export async function startAlerts(overrides: Partial<Dependencies> = {}): Promise<TestAlerts> {
  const control = await startControl({
    limits: { ...defaultLimits.control, requestsPerMinute: 1_000_000 },
    ...overrides,
  });
  const { sql, organizationId, owner } = control;
  await sql`UPDATE control.account SET is_admin = true WHERE id = ${owner.accountId}`;
  const { deps } = control;
  let project = { id: '', name: '' };
  let receiver: HttpReceiver;
  let stop: () => Promise<unknown>;
  const deliver = (): void => {
    const stopping = new AbortController();
    const done = deliverAlerts({ ...deps, stopping: stopping.signal });
    stop = () => {
      stopping.abort();
      return done;
    };
  };
  const alerts: TestAlerts = {
    control,
    get project() {
      return project;
    },
    get receiver() {
      return receiver;
    },
    async begin() {
      receiver = await openHttpReceiver();
      control.mailBy(null);
      const id = newId('project');
      project = { id, name: `p${id.slice(4, 14)}` };
      await sql`
        INSERT INTO control.project (id, organization_id, name) VALUES (${id}, ${organizationId}, ${project.name})`;
      deliver();
    },
    async end() {
      await stop();
      await receiver.goAway();
      await sql`DELETE FROM control.alert_rule`;
      await sql`DELETE FROM control.alert_channel`;
      await sql`DELETE FROM control.alert_event`;
    },
    async mailBy(url) {
      await stop();
      control.mailBy(url);
      deliver();
    },
    at: (what) => `/projects/${project.id}/${what}`,
    async made(path, body) {
      const answer = await control.call('POST', path, body);
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      return answer.body;
    },
    makeChannel: (kind, more = {}) =>
      alerts.made(alerts.at('alert-channels'), {
        name: kind,
        kind,
        url: `${receiver.url}/secret-path`,
        allowPrivate: true,
        ...more,
      }),
    makeRule: (more) =>
      alerts.made(alerts.at('alert-rules'), { name: 'Too many errors', kind: 'error_rate', channels: [], ...more }),
    history: async () => (await control.call('GET', alerts.at('alerts'))).body.items,
    close: () => control.close(),
  };
  return alerts;
}

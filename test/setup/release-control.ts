// A control plane over a platform that runs, for tests of releases: one data folder, real sockets, all in this process.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from '#builder/build/build.ts';
import { startDeployments } from '#control/releases/start.ts';
import type { Dependencies } from '#control/process/dependencies.ts';
import { openPrivatePort, type HandlerPorts } from '#control/process/private-port.ts';
import { collectTelemetry } from '#control/telemetry/collect.ts';
import { parseProjectConfig, type ProjectConfig } from '#core/config/project-config.ts';
import { packArtifact } from '#artifacts/archive/pack-artifact.ts';
import { startControl, type TestControl } from './control.ts';
import { startPlatformHere, type PlatformHere, type PlatformHereOptions } from './platform-here.ts';
import { until } from './until.ts';

/** What is deployed: code of its worker, further files, its platform.yaml. */
export interface DeployedSource {
  readonly code: string;
  readonly yaml?: string;
  readonly files?: Readonly<Record<string, string>>;
}

/** A deployment as the database has it. */
interface DeploymentState {
  readonly id: string;
  readonly status: string;
  readonly reason: string | null;
  readonly error_message: string | null;
}

/** A control plane and its platform. */
export interface ReleaseControl {
  readonly control: TestControl;
  readonly platform: PlatformHere;
  /** Private ports by handler. */
  readonly handlers: HandlerPorts['each'];
  /** Makes a project; its id. */
  project(name: string): Promise<string>;
  /** Packs what a source builds to. */
  pack(source: DeployedSource): Promise<Buffer>;
  /** Uploads an archive by the API; its deployment's id. */
  upload(projectId: string, archive: Uint8Array, branch?: string): Promise<string>;
  /** Builds, uploads, and waits for the end. */
  deploy(projectId: string, source: DeployedSource, branch?: string): Promise<DeploymentState>;
  /** Waits until a deployment has ended. */
  ended(deploymentId: string): Promise<DeploymentState>;
  /** Lines of its log, as `step text`. */
  log(deploymentId: string): Promise<string[]>;
  close(): Promise<void>;
}

const TOKEN = 'token-of-the-private-port';

/** Starts both. @param overrides of the control plane's dependencies @param options of the platform */
export async function startReleaseControl(
  environment: Readonly<Record<string, string>> = {},
  overrides: Partial<Dependencies> = {},
  options: PlatformHereOptions = {},
): Promise<ReleaseControl> {
  const platform = await startPlatformHere({}, { PRIVATE_PORT_TOKEN: TOKEN, ...environment }, options);
  const privatePort = openPrivatePort([`http://127.0.0.1:${platform.privatePort}`], TOKEN);
  const control = await startControl({ folder: platform.folder, privatePort, ...overrides });
  const { sql } = control;
  startDeployments(control.deps);
  control.deps.background('Collecting lines', () => collectTelemetry(control.deps, privatePort.each));
  const work = mkdtempSync(path.join(tmpdir(), 'platform-sources-'));
  let sources = 0;

  const pack: ReleaseControl['pack'] = async ({ code, yaml = '', files = {} }) => {
    const root = path.join(work, String(++sources));
    for (const [name, text] of Object.entries({ 'src/index.ts': code, ...files })) {
      mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
      writeFileSync(path.join(root, name), text);
    }
    const config = parseProjectConfig(yaml, { file: 'platform.yaml' }).config as ProjectConfig;
    const artifact = await build({ root, config, artifacts: path.join(root, 'artifacts'), durable: false });
    await packArtifact(artifact.folder, path.join(root, 'packed'));
    return readFileSync(path.join(root, 'packed'));
  };
  const upload: ReleaseControl['upload'] = async (projectId, archive, branch = 'main') => {
    const sha256 = createHash('sha256').update(archive).digest('hex');
    const announced = await control.call('POST', `/projects/${projectId}/uploads`, {
      bytes: archive.length,
      sha256,
      branch,
    });
    if (announced.status !== 201) throw new Error(JSON.stringify(announced.body));
    const { id } = announced.body as { id: string };
    await control.send('PUT', `/uploads/${id}`, archive, { 'content-type': 'application/octet-stream' });
    const made = await control.call('POST', `/uploads/${id}/deploy`);
    if (made.status !== 202) throw new Error(JSON.stringify(made.body));
    return (made.body as { deploymentId: string }).deploymentId;
  };
  const ended: ReleaseControl['ended'] = (deploymentId) =>
    until(async () => {
      const [row] = await sql<DeploymentState[]>`
        SELECT id, status, reason, error_message FROM control.deployment WHERE id = ${deploymentId}
          AND status IN ('success', 'failure', 'timeout', 'canceled')`;
      return row ?? null;
    });
  return {
    control,
    platform,
    handlers: privatePort.each,
    pack,
    upload,
    ended,
    async project(name) {
      const { status, body } = await control.call('POST', '/projects', {
        name,
        organizationId: control.organizationId,
      });
      if (status !== 201) throw new Error(JSON.stringify(body));
      return (body as { id: string }).id;
    },
    async deploy(projectId, source, branch) {
      return ended(await upload(projectId, await pack(source), branch));
    },
    async log(deploymentId) {
      const lines = await sql<{ step: string; text: string }[]>`
        SELECT step, text FROM control.build_log WHERE deployment_id = ${deploymentId} ORDER BY seq`;
      return lines.map(({ step, text }) => `${step} ${text}`);
    },
    async close() {
      await control.close();
      await platform.close();
      rmSync(work, { recursive: true, force: true });
    },
  };
}

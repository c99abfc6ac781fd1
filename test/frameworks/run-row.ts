// Runs one app through what its author does: `platform dev` and edits, `platform build`, `platform deploy`, and a visit
// of what is deployed. A step that fails leaves the rest of its half untried.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '#test/setup/free-port.ts';
import type { WholePlatform } from '#test/setup/whole-platform.ts';
import { checks, readable } from './checks.ts';
import { makeProject, versionOf, type Going, type Project } from './project.ts';
import { checkNames, type Cell, type CheckName, type Column, type Outcome, type Row } from './row.ts';
import { visitorOf, type Visitor } from './visitor.ts';

const DEV_MS_MAX = 90_000;
const EDIT_MS_MAX = 30_000;
/** Whoever edits looks at what came before. */
const EDIT_PAUSE_MS = 500;
const EDITS = ['one', 'two', 'three', 'four'] as const;
/** What is tried in dev too: the rest is about built files. */
const devChecks: readonly CheckName[] = ['page', 'api', 'stream', 'form', 'missing'];

type Cells = Partial<Record<Column, Cell>>;

/** Runs a row; what fails is in its cells. @param say gets a line for each step. */
export async function runRow(row: Row, platform: WholePlatform, say: (line: string) => void): Promise<Outcome> {
  const folder = mkdtempSync(path.join(tmpdir(), `platform-frameworks-${row.app}-`));
  const cells: Cells = {};
  const step = async (column: Column, work: () => Promise<string>): Promise<boolean> => {
    try {
      cells[column] = { shown: await work() };
    } catch (error) {
      cells[column] = { failed: (error as Error).message.replaceAll(folder, '') };
    }
    const cell = cells[column];
    say(`  ${column}: ${'shown' in cell ? cell.shown : `FAILED ${(cell as { failed: string }).failed}`}`);
    return 'shown' in cell;
  };
  try {
    const project = await makeProject(row, path.join(folder, row.app), platform.environment);
    await runDev(row, project, step);
    const built = await step('build', () => build(row, project));
    if (built && (await step('deploy', () => deploy(project)))) {
      const origin = `http://${project.name}.localhost:${platform.ports.handler}`;
      const visitor = visitorOf(origin, { host: '127.0.0.1', port: platform.ports.handler });
      for (const name of checkNames) {
        const hole = row.holes?.[name];
        if (hole !== undefined) cells[name] = { hole };
        else await step(name, () => checks[name](visitor, row).then(() => 'yes'));
      }
    }
  } catch (error) {
    cells.build = { failed: (error as Error).message };
    say(`  not installed: ${(error as Error).message}`);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  return { row, version: versionOf(row), cells };
}

type Step = (column: Column, work: () => Promise<string>) => Promise<boolean>;

async function runDev(row: Row, project: Project, step: Step): Promise<void> {
  const port = await freePort();
  const began = performance.now();
  const going = project.begin('dev', '--port', String(port), '--dashboard-port', '0');
  const visitor = visitorOf(`http://localhost:${port}`, { host: 'localhost', port });
  try {
    let readyMs = 0;
    const tried = await step('dev', async () => {
      await untilShown(visitor, row.editedAt ?? row.page ?? '/', 'version one', going, DEV_MS_MAX);
      readyMs = performance.now() - began;
      const wrong: string[] = [];
      for (const name of devChecks) {
        if (row.holes?.[name] !== undefined || row.untriedInDev?.includes(name) === true) continue;
        await checks[name](visitor, row).catch((error: Error) => wrong.push(`${name}: ${error.message}`));
      }
      if (wrong.length > 0) throw new Error(`answers after ${seconds(readyMs)}, but ${wrong.join('; ')}`);
      return seconds(readyMs);
    });
    if (tried || readyMs > 0) await step('edit', () => edit(row, project, visitor, going));
  } finally {
    await going.stop();
  }
}

/** The median of three. The file is left as it was. */
async function edit(row: Row, project: Project, visitor: Visitor, going: Going): Promise<string> {
  const { editedAt = row.page ?? '/' } = row;
  const before = project.read(row.edits);
  const took: number[] = [];
  try {
    await untilShown(visitor, editedAt, 'version one', going, EDIT_MS_MAX);
    for (const words of EDITS.slice(1)) {
      await new Promise((resolve) => setTimeout(resolve, EDIT_PAUSE_MS));
      const began = performance.now();
      project.write(row.edits, before.replace('version one', `version ${words}`));
      await untilShown(visitor, editedAt, `version ${words}`, going, EDIT_MS_MAX);
      took.push(performance.now() - began);
    }
  } finally {
    project.write(row.edits, before);
  }
  return `${Math.round(took.toSorted((a, b) => a - b)[1]!)} ms`;
}

async function build(row: Row, project: Project): Promise<string> {
  const { output, wallMs } = await project.platform('build', '--json');
  const { kind } = JSON.parse(output.slice(output.lastIndexOf('\n{') + 1)) as { kind: string };
  if (kind !== row.kind) throw new Error(`its artifact is of kind ${kind}, not ${row.kind}`);
  return seconds(wallMs);
}

async function deploy(project: Project): Promise<string> {
  const words = ['deploy', '--prod', '--name', project.name, '--prebuilt', '.platform/artifacts'];
  return seconds((await project.platform(...words)).wallMs);
}

/** Asks until an answer of success has the words. @throws {Error} with what came last, or what the program printed. */
async function untilShown(visitor: Visitor, at: string, words: string, going: Going, waitMs: number): Promise<void> {
  let last = 'no answer';
  for (const end = Date.now() + waitMs; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 5))) {
    try {
      const { status, text } = await visitor.get(at);
      if (status === 200 && readable(text).includes(words)) return;
      last = `${status} ${text.slice(0, 300)}`;
    } catch (error) {
      last = (error as Error).message;
    }
    if (going.ended()) throw new Error(`platform dev ended: ${going.output()}`);
  }
  throw new Error(`${at} did not show "${words}" within ${waitMs / 1000} s: ${last}\n${going.output()}`);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

#!/usr/bin/env node
// `npm create @platform-run [folder] -- [--template name] [--force]`: creates a project that uses the published
// packages.
import path from 'node:path';
import { parseArgs } from 'node:util';
import { createProject, ProjectError, projectNameFrom, templates } from './project.ts';

const list = Object.entries(templates)
  .map(([name, summary]) => `  ${name.padEnd(8)} ${summary}`)
  .join('\n');
const usage = `npm create @platform-run [folder] -- [--template name] [--force]\n\nTemplates (default: worker):\n${list}`;

process.exitCode = run(process.argv.slice(2));

function run(words: string[]): number {
  let asked;
  try {
    asked = parseArgs({
      args: words,
      allowPositionals: true,
      options: {
        template: { type: 'string', short: 't', default: 'worker' },
        force: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    return refuse((error as Error).message);
  }
  const { values, positionals } = asked;
  if (values.help) {
    process.stdout.write(`${usage}\n`);
    return 0;
  }
  if (positionals.length > 1) return refuse(`One folder is expected, not ${positionals.length}`);
  const folder = path.resolve(positionals[0] ?? '.');
  try {
    const files = createProject(values.template, folder, { force: values.force });
    process.stdout.write(
      `Created ${projectNameFrom(folder)} from the template ${values.template} (${files.length} files)\n`,
    );
  } catch (error) {
    if (!(error instanceof ProjectError)) throw error;
    return refuse(error.message);
  }
  const steps = ['npm install', 'npm run dev'];
  if (folder !== process.cwd()) steps.unshift(`cd ${path.relative(process.cwd(), folder)}`);
  process.stdout.write(`Next: ${steps.join(', then ')}\n`);
  return 0;
}

function refuse(message: string): number {
  process.stderr.write(`error ${message}\n\n${usage}\n`);
  return 2;
}

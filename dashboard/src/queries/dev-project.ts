// The project of `platform dev`, in the shape of production's projects.
import { ask } from '../api/client.ts';

/** Loads the project. */
export async function devProject(signal: AbortSignal) {
  const { projects } = await ask<{ projects: readonly { name: string; url: string }[] }>('GET', '/projects', {
    signal,
  });
  const { name, url } = projects[0]!;
  const now = new Date().toISOString();
  return {
    id: name,
    name,
    organizationId: '',
    repositoryId: null,
    description: '',
    visibility: 'private' as const,
    kind: null,
    deploymentUrl: url,
    configPath: '',
    defaultBranch: 'main',
    productionDeploymentId: null,
    settings: {
      buildCommand: null,
      outputDirectory: null,
      installCommand: null,
      redeployOnVariables: false,
      keepDeployments: null,
      release: null,
      hasPreviewPassword: false,
      hasPreviewBypass: false,
    },
    createdAt: now,
    updatedAt: now,
  };
}

// The command palette: pages, actions, projects, deployments by ID, preferences. shell.tsx loads it when first opened.
import { ActivityLogIcon, CubeIcon, GearIcon, RocketIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { useState } from 'react';
import { Dialog } from '../components/dialog.tsx';
import { mode } from '../state/mode.ts';
import { projectsQuery } from '../queries/account.ts';
import { prefer } from '../state/preferences.ts';
import { navigationEntries, settingsPages } from './navigation-entries.ts';
import styles from './palette.module.css';
import { PaletteActions } from './palette-actions.tsx';
import { usePlace } from './use-place.ts';

const DEPLOYMENT_ID = /^d[0-9a-z]{12}$/;

export default function Palette({ onClose }: { readonly onClose: () => void }) {
  const [typed, setTyped] = useState('');
  const navigate = useNavigate();
  const { ref, project } = usePlace();
  const live = project?.productionDeploymentId ?? null;
  const { data: projects = [] } = useQuery({ ...projectsQuery(), enabled: mode === 'production' });
  const go = (to: string) => (): void => {
    onClose();
    void navigate({ to });
  };
  const set = (change: Parameters<typeof prefer>[0]) => (): void => {
    onClose();
    prefer(change);
  };
  const word = typed.trim();
  return (
    <Dialog isOpen onClose={onClose} title="Search pages, projects and actions" isTitleHidden isWide>
      <Command className={styles.palette} label="Search" loop>
        <Command.Input
          value={typed}
          onValueChange={setTyped}
          placeholder="Search pages, projects, deployment IDs…"
          autoFocus
        />
        <Command.List className={styles.list}>
          <Command.Empty>No results</Command.Empty>
          {DEPLOYMENT_ID.test(word) && mode === 'production' && (
            <Command.Item value={word} onSelect={go(`/deployments/${word}`)}>
              <RocketIcon />
              Deployment {word}
            </Command.Item>
          )}
          {ref !== null && (
            <Command.Group heading={ref}>
              {navigationEntries
                .filter((entry) => entry.modes.includes(mode))
                .map(({ title, Icon, path, key }) => (
                  <Command.Item key={path} value={`${ref} ${title}`} onSelect={go(`/projects/${ref}/${path}`)}>
                    <Icon />
                    {title}
                    <small>g {key}</small>
                  </Command.Item>
                ))}
              {mode === 'production' && (
                <>
                  {settingsPages.slice(1).map(([title, to]) => (
                    <Command.Item
                      key={to}
                      value={`${ref} ${title} settings`}
                      onSelect={go(to.replace('$project', ref))}
                    >
                      <GearIcon />
                      {title}
                    </Command.Item>
                  ))}
                  {live !== null && (
                    <Command.Item value={`${ref} live version`} onSelect={go(`/deployments/${live}`)}>
                      <RocketIcon />
                      Live version
                    </Command.Item>
                  )}
                </>
              )}
            </Command.Group>
          )}
          {project !== null && mode === 'production' && (
            <PaletteActions project={project} withRoutes={word !== ''} onClose={onClose} />
          )}
          {mode === 'production' && (
            <Command.Group heading="Projects">
              <Command.Item value="all projects" onSelect={go('/')}>
                <CubeIcon />
                All projects
              </Command.Item>
              {projects.map(({ id, name }) => (
                <Command.Item key={id} value={`project ${name}`} onSelect={go(`/projects/${name}`)}>
                  <CubeIcon />
                  {name}
                </Command.Item>
              ))}
            </Command.Group>
          )}
          <Command.Group heading="Preferences">
            <Command.Item onSelect={set({ theme: 'light' })}>Light theme</Command.Item>
            <Command.Item onSelect={set({ theme: 'dark' })}>Dark theme</Command.Item>
            <Command.Item onSelect={set({ theme: 'system' })}>System theme</Command.Item>
            <Command.Item onSelect={set({ timeZone: 'UTC' })}>Show times in UTC</Command.Item>
            <Command.Item onSelect={set({ timeZone: 'local' })}>Show times in local time</Command.Item>
          </Command.Group>
          {/* Always last, so that Enter opens the page that was searched for. */}
          {ref !== null && word !== '' && mode === 'production' && (
            <Command.Item
              forceMount
              value={`search logs ${word}`}
              onSelect={() => {
                onClose();
                void navigate({ to: '/projects/$project/logs', params: { project: ref }, search: { search: word } });
              }}
            >
              <ActivityLogIcon />
              Search logs for “{word}”
            </Command.Item>
          )}
        </Command.List>
      </Command>
    </Dialog>
  );
}

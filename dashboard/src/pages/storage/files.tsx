// Files of a binding by folder: upload, download, delete. Contents are never rendered here, since an uploaded file may
// be a malicious page.
import { ArchiveIcon, DownloadIcon, FileIcon, TrashIcon, UploadIcon } from '@radix-ui/react-icons';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useRef, useState, type DragEvent } from 'react';
import { dataOf, api, send } from '../../api/client.ts';
import { failureOf } from '../../api/failure.ts';
import { Button, IconButton, OutsideLink } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CursorList } from '../../components/cursor-list.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { branchOf, filesQuery, type BindingPlace } from '../../queries/resources.ts';
import type { ListSearch } from '../../queries/resource-search.ts';
import { AreaPage } from './binding-page.tsx';
import { targetOf, useChanges } from './changes.tsx';
import { bindingKind, storageArea } from './kinds.ts';
import styles from './storage.module.css';
import { StoredActivity } from './stored-activity.tsx';
import { bytesText } from './value.tsx';

export function FilesPage() {
  return (
    <AreaPage area={storageArea} kind={bindingKind('fs')}>
      {(place) => <Folder key={`${place.binding} ${place.branch ?? ''}`} place={place} />}
    </AreaPage>
  );
}

interface Row {
  readonly key: string;
  readonly isFolder: boolean;
  readonly size: number;
  readonly uploadedAt: number;
  readonly contentType?: string | undefined;
}

function contentPath(place: BindingPlace, key: string): string {
  const query = new URLSearchParams({ ...branchOf(place), key });
  return `/api/projects/${place.id}/files/${place.binding}/content?${query.toString()}`;
}

function Folder({ place }: { readonly place: BindingPlace }) {
  const { prefix = '' } = useSearch({ strict: false }) as ListSearch;
  const query = useInfiniteQuery(filesQuery(place, prefix));
  const { change, isPending, question } = useChanges(place);
  const [deleted, setDeleted] = useState<string | null>(null);
  const [isOver, setOver] = useState(false);
  const [sent, setSent] = useState<string | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const upload = (files: readonly File[]): void => {
    if (files.length === 0) return;
    change({
      done: files.length === 1 ? `${files[0]!.name} uploaded` : `${files.length} files uploaded`,
      failed: 'Could not finish the upload',
      act: async () => {
        try {
          for (const [at, file] of files.entries()) {
            setSent(`${file.name} (${bytesText(file.size)}), ${at + 1} of ${files.length}`);
            const response = await send(
              new Request(contentPath(place, `${prefix}${file.name}`), {
                method: 'PUT',
                body: file,
                headers: { 'content-type': file.type === '' ? 'application/octet-stream' : file.type },
              }),
            );
            if (!response.ok) throw failureOf(response.status, await response.json().catch(() => null), response);
          }
        } finally {
          setSent(null);
        }
      },
    });
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    upload([...event.dataTransfer.files]);
  };
  const parts = prefix.split('/').filter((part) => part !== '');
  return (
    <div
      className={`${styles.drop} ${styles.content}`}
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <StoredActivity place={place} kind="fs" />
      <div className={styles.bar}>
        <nav className={`${styles.crumbs} ${styles.grow}`} aria-label="Folder">
          <Link to="." search={(before: ListSearch) => ({ ...before, prefix: undefined })}>
            {place.binding}
          </Link>
          {parts.map((part, at) => (
            <span key={`${at} ${part}`}>
              {'/ '}
              <Link
                to="."
                search={(before: ListSearch) => ({ ...before, prefix: `${parts.slice(0, at + 1).join('/')}/` })}
              >
                {part}
              </Link>
            </span>
          ))}
        </nav>
        <input
          ref={input}
          className={styles.fileInput}
          type="file"
          multiple
          tabIndex={-1}
          aria-label="Files to upload"
          onChange={(event) => {
            upload([...(event.target.files ?? [])]);
            event.target.value = '';
          }}
        />
        <Button variant="primary" isPending={isPending && sent !== null} onClick={() => input.current?.click()}>
          <UploadIcon />
          Upload files
        </Button>
      </div>
      {sent !== null && (
        <p className={styles.soft} role="status">
          Uploading {sent}…
        </p>
      )}
      <CursorList
        name="files"
        query={{ ...query, data: query.data && { ...query.data, pages: query.data.pages.map(toPage) } } as never}
        empty={
          <EmptyState icon={<FileIcon />} title="No files yet">
            Drop files here, or call <code>{`await env.${place.binding}.put('a.txt', 'hello')`}</code> in your worker.
          </EmptyState>
        }
      >
        {(items: readonly Row[]) => (
          <Table
            label="Files"
            rows={items}
            rowKey={({ key }) => key}
            columns={[
              {
                id: 'name',
                header: 'Name',
                phone: 'first',
                cell: ({ key, isFolder }) =>
                  isFolder ? (
                    <Link to="." search={(before: ListSearch) => ({ ...before, prefix: key })} className={styles.mono}>
                      <ArchiveIcon aria-hidden /> {key.slice(prefix.length)}
                    </Link>
                  ) : (
                    <span className={styles.mono}>{key.slice(prefix.length)}</span>
                  ),
              },
              { id: 'type', header: 'Type', phone: 'hidden', cell: ({ contentType }) => contentType ?? '' },
              {
                id: 'size',
                header: 'Size',
                align: 'end',
                isFitted: true,
                cell: ({ size, isFolder }) => (isFolder ? '' : bytesText(size)),
              },
              {
                id: 'at',
                header: 'Uploaded',
                isFitted: true,
                cell: ({ uploadedAt, isFolder }) => (isFolder ? '' : <Time at={uploadedAt} />),
              },
            ]}
            actions={({ key, isFolder }) =>
              isFolder ? (
                ''
              ) : (
                <span className={styles.bar}>
                  <OutsideLink
                    href={contentPath(place, key)}
                    download
                    size="small"
                    variant="ghost"
                    aria-label={`Download ${key}`}
                    title={`Download ${key}`}
                  >
                    <DownloadIcon />
                  </OutsideLink>
                  <IconButton size="small" label={`Delete ${key}`} onClick={() => setDeleted(key)}>
                    <TrashIcon />
                  </IconButton>
                </span>
              )
            }
          />
        )}
      </CursorList>
      {question}
      <Confirm
        isOpen={deleted !== null}
        onClose={() => setDeleted(null)}
        title="Delete this file?"
        action="Delete file"
        isDanger
        onConfirm={() => {
          const key = deleted!;
          setDeleted(null);
          change({
            done: 'File deleted',
            failed: 'Could not delete the file',
            act: () =>
              dataOf(
                api.delete('/projects/:id/files/:binding/content', {
                  params: { id: place.id, binding: place.binding },
                  query: { ...branchOf(place), key },
                }),
              ),
          });
        }}
      >
        <span className={styles.mono}>{deleted}</span> of {targetOf(place)} is gone then.
      </Confirm>
    </div>
  );
}

function toPage(page: {
  readonly items: readonly Omit<Row, 'isFolder'>[];
  readonly folders: readonly string[];
  readonly nextCursor: string | null;
}): { items: Row[]; nextCursor: string | null } {
  const folders = page.folders.map((key) => ({ key, isFolder: true, size: 0, uploadedAt: 0 }));
  return {
    items: [...folders, ...page.items.map((file) => ({ ...file, isFolder: false }))],
    nextCursor: page.nextCursor,
  };
}

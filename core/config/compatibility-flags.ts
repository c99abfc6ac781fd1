// Compatibility flags of platform.yaml: flags with an effect, flags that are always on, and flags of other platforms.
// Used by project-config.ts for warnings. Pure.
import { nearestWord } from '../spelling.ts';

/** Flags that change the behavior of workers. */
const EFFECTIVE = new Set(['nodejs_compat', 'no_nodejs_compat']);

/** Flags for standard behavior, which workers always have here. */
const met = new Set(
  `nodejs_compat_v2 nodejs_als nodejs_zlib nodejs_compat_populate_process_env formdata_parser_supports_files
  fetch_refuses_unknown_protocols streams_byob_reader_detaches_buffer streams_enable_constructors
  transformstream_enable_standard_constructor workers_api_getters_setters_on_prototype url_standard response_redirect_url_standard
  capture_async_api_throws export_commonjs_default http_headers_getsetcookie urlsearchparams_delete_has_value_arg global_navigator`.split(
    /\s+/,
  ),
);

/** Unsupported flags of other platforms: old behavior, or missing features. */
const UNMET = new Set(
  `formdata_parser_converts_files_to_strings fetch_treats_unknown_protocols_as_http html_rewriter_treats_esi_include_as_void_tag
  durable_object_fetch_requires_full_url durable_object_fetch_allows_relative_url streams_byob_reader_does_not_detach_buffer
  streams_disable_constructors workers_api_getters_setters_on_instance minimal_subrequests no_minimal_subrequests
  no_cots_on_external_fetch cots_on_external_fetch url_original no_global_navigator do_not_capture_async_api_throws
  r2_public_beta_bindings r2_internal_beta_bindings durable_object_alarms dont_substitute_null_on_type_error
  substitute_null_on_type_error transformstream_disable_standard_constructor r2_list_honor_include export_commonjs_namespace
  durable_object_rename web_socket_compression no_web_socket_compression tcp_sockets_support response_redirect_url_original
  experimental durable_object_get_existing no_http_headers_getsetcookie dynamic_dispatch_tunnel_exceptions
  dynamic_dispatch_treat_exceptions_as_500 service_binding_extra_handlers no_cf_botmanagement_default cf_botmanagement_default
  no_urlsearchparams_delete_has_value_arg strict_compression_checks no_strict_compression_checks brotli_content_encoding
  no_brotli_content_encoding strict_crypto_checks no_strict_crypto_checks rpc no_rpc crypto_preserve_public_exponent
  no_crypto_preserve_public_exponent vectorize_query_metadata_optional unsafe_module js_rpc no_import_assertions
  python_workers python_workers_20250116 fetcher_no_get_put_delete fetcher_has_get_put_delete unwrap_custom_thenables
  no_unwrap_custom_thenables internal_stream_byob_return_view blob_standard_mime_type blob_legacy_mime_type fetch_standard_url
  fetch_legacy_url nodejs_compat_do_not_populate_process_env no_nodejs_compat_v2 no_nodejs_als no_nodejs_zlib set_tostring_tag
  do_not_set_tostring_tag upper_case_all_http_methods no_upper_case_all_http_methods allow_eval_during_startup
  disallow_eval_during_startup cache_option_enabled cache_option_disabled cache_no_cache_enabled cache_no_cache_disabled
  global_fetch_strictly_public global_fetch_private_origin queues_json_messages no_queues_json_messages
  queue_consumer_no_wait_for_wait_until queue_consumer_wait_for_wait_until handle_cross_request_promise_resolution
  no_handle_cross_request_promise_resolution disallow_importable_env allow_importable_env allow_custom_ports ignore_custom_ports
  increase_websocket_message_size assets_navigation_prefers_asset_serving assets_navigation_has_no_effect enable_ctx_exports
  disable_ctx_exports enable_nodejs_http_modules disable_nodejs_http_modules enable_nodejs_http_server_modules
  disable_nodejs_http_server_modules enable_nodejs_fs_module disable_nodejs_fs_module enable_nodejs_process_v2
  disable_nodejs_process_v2 enable_nodejs_os_module disable_nodejs_os_module enable_web_file_system delete_all_deletes_alarm
  fixup-transform-stream-backpressure original-transform-stream-backpressure`.split(/\s+/),
);

/** Warning for a flag; null if it behaves as its author expects. */
export function flagWarning(flag: string): { readonly message: string; readonly hint?: string } | null {
  if (EFFECTIVE.has(flag) || met.has(flag)) return null;
  const hint = 'Flags with an effect here: nodejs_compat (on by default), no_nodejs_compat.';
  if (UNMET.has(flag)) return { message: `The flag "${flag}" is known, but has no effect on this platform`, hint };
  const near = nearestWord(flag, [...EFFECTIVE, ...met, ...UNMET]);
  return {
    message: `Unknown flag "${flag}": it has no effect`,
    hint: near === undefined ? hint : `Did you mean "${near}"?`,
  };
}

/* Messages below a prefix are taken with a seal of the site's key alone. */

#include "config.h"

#include <ctype.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mosquitto_broker.h"
#include "mosquitto_plugin.h"
#include "mosquitto.h"
#include "mqtt_protocol.h"
/* The broker offers plug-ins no way to read or remove a property: its own lists are walked. */
#include "property_mosq.h"

#define DIGITS 64
#define KEY_MAX 4096

struct taken {
	struct taken *next;
	time_t until;
	char seal[DIGITS + 1];
};

static mosquitto_plugin_id_t *plugin_id = NULL;
static char *prefix = NULL;
static unsigned char key[KEY_MAX];
static size_t key_len = 0;
static long window = 120;
static struct taken *taken_seals = NULL;

static int refuse(const struct mosquitto_evt_message *ed, const char *why)
{
	mosquitto_log_printf(MOSQ_LOG_NOTICE, "holm-seal: refused %s from %s: %s", ed->topic,
			mosquitto_client_id(ed->client), why);
	return MOSQ_ERR_ACL_DENIED;
}

static bool is_named(const mosquitto_property *p, const char *name)
{
	return p->identifier == MQTT_PROP_USER_PROPERTY && p->name.v && !strcmp(p->name.v, name);
}

/* The value of the only user property of this name. */
static const char *only(const mosquitto_property *list, const char *name)
{
	const mosquitto_property *p;
	const char *found = NULL;

	for(p = list; p; p = p->next){
		if(is_named(p, name)){
			if(found){
				return NULL;
			}
			found = p->value.s.v ? p->value.s.v : "";
		}
	}
	return found;
}

static void drop(mosquitto_property **list, const char *name)
{
	mosquitto_property *p;

	while((p = *list)){
		if(is_named(p, name)){
			*list = p->next;
			p->next = NULL;
			mosquitto_property_free_all(&p);
		}else{
			list = &p->next;
		}
	}
}

static void forget(time_t now)
{
	struct taken **at = &taken_seals, *old;

	while((old = *at)){
		if(old->until < now){
			*at = old->next;
			free(old);
		}else{
			at = &old->next;
		}
	}
}

static bool seal_of(const struct mosquitto_evt_message *ed, const char *seconds, char *digits)
{
	unsigned char *text, mac[EVP_MAX_MD_SIZE];
	size_t topic_len = strlen(ed->topic), seconds_len = strlen(seconds), at;
	unsigned int mac_len = 0, i;
	bool ok;

	text = malloc(topic_len + seconds_len + 2 + ed->payloadlen);
	if(!text){
		return false;
	}
	memcpy(text, ed->topic, topic_len);
	at = topic_len;
	text[at++] = '\n';
	memcpy(text + at, seconds, seconds_len);
	at += seconds_len;
	text[at++] = '\n';
	if(ed->payloadlen){
		memcpy(text + at, ed->payload, ed->payloadlen);
		at += ed->payloadlen;
	}
	ok = HMAC(EVP_sha256(), key, (int)key_len, text, at, mac, &mac_len) && mac_len == DIGITS / 2;
	free(text);
	for(i = 0; ok && i < mac_len; i++){
		snprintf(digits + 2 * i, 3, "%02x", mac[i]);
	}
	return ok;
}

static int on_message(int event, void *event_data, void *userdata)
{
	struct mosquitto_evt_message *ed = event_data;
	const char *seconds, *seal, *user;
	char digits[DIGITS + 1];
	struct taken *one;
	time_t now = time(NULL);
	long long then;

	UNUSED(event);
	UNUSED(userdata);

	if(strncmp(ed->topic, prefix, strlen(prefix))){
		return MOSQ_ERR_SUCCESS;
	}
	seconds = only(ed->properties, "seal-time");
	seal = only(ed->properties, "seal");
	if(!seconds || !seal){
		return refuse(ed, "no seal, or several");
	}
	if(!*seconds || strlen(seconds) > 12 || seconds[strspn(seconds, "0123456789")]){
		return refuse(ed, "no time");
	}
	then = atoll(seconds);
	if(then < now - window || then > now + window){
		return refuse(ed, "another time");
	}
	if(!seal_of(ed, seconds, digits) || strlen(seal) != DIGITS || CRYPTO_memcmp(seal, digits, DIGITS)){
		return refuse(ed, "another seal");
	}
	forget(now);
	for(one = taken_seals; one; one = one->next){
		if(!strcmp(one->seal, digits)){
			return refuse(ed, "taken before");
		}
	}
	one = calloc(1, sizeof(*one));
	if(!one){
		return refuse(ed, "no memory");
	}
	memcpy(one->seal, digits, sizeof(digits));
	one->until = (time_t)then + window;
	one->next = taken_seals;
	taken_seals = one;

	drop(&ed->properties, "seal");
	drop(&ed->properties, "seal-time");
	drop(&ed->properties, "seal-user");
	user = mosquitto_client_username(ed->client);
	if(user){
		return mosquitto_property_add_string_pair(&ed->properties, MQTT_PROP_USER_PROPERTY, "seal-user", user);
	}
	return MOSQ_ERR_SUCCESS;
}

static bool read_key(const char *path)
{
	FILE *file = fopen(path, "rb");
	size_t begin = 0;

	if(!file){
		return false;
	}
	key_len = fread(key, 1, sizeof(key), file);
	fclose(file);
	while(key_len && isspace(key[key_len - 1])){
		key_len--;
	}
	while(begin < key_len && isspace(key[begin])){
		begin++;
	}
	key_len -= begin;
	memmove(key, key + begin, key_len);
	return key_len > 0;
}

int mosquitto_plugin_version(int supported_version_count, const int *supported_versions)
{
	int i;

	for(i = 0; i < supported_version_count; i++){
		if(supported_versions[i] == 5){
			return 5;
		}
	}
	return -1;
}

int mosquitto_plugin_init(mosquitto_plugin_id_t *identifier, void **user_data, struct mosquitto_opt *opts, int opt_count)
{
	const char *key_file = NULL;
	int i;

	UNUSED(user_data);
	plugin_id = identifier;
	for(i = 0; i < opt_count; i++){
		if(!strcmp(opts[i].key, "prefix")){
			free(prefix);
			prefix = strdup(opts[i].value);
		}else if(!strcmp(opts[i].key, "key_file")){
			key_file = opts[i].value;
		}else if(!strcmp(opts[i].key, "window")){
			window = atol(opts[i].value);
		}
	}
	if(!prefix || !*prefix || !key_file || window < 1 || !read_key(key_file)){
		mosquitto_log_printf(MOSQ_LOG_ERR, "holm-seal: a prefix, a key and a window are needed");
		return MOSQ_ERR_INVAL;
	}
	return mosquitto_callback_register(plugin_id, MOSQ_EVT_MESSAGE, on_message, NULL, NULL);
}

int mosquitto_plugin_cleanup(void *user_data, struct mosquitto_opt *opts, int opt_count)
{
	UNUSED(user_data);
	UNUSED(opts);
	UNUSED(opt_count);

	while(taken_seals){
		struct taken *next = taken_seals->next;
		free(taken_seals);
		taken_seals = next;
	}
	free(prefix);
	prefix = NULL;
	OPENSSL_cleanse(key, sizeof(key));
	return mosquitto_callback_unregister(plugin_id, MOSQ_EVT_MESSAGE, on_message, NULL);
}

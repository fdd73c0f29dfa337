"""Queries in six languages and the times and places that they mean, and that English queries stay as they
are.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.runtime.bundle.gazetteer import Gazetteer
from gamer.runtime.cues.languages import compiled, expand, language_of, lowered, translated
from gamer.runtime.cues.parse import Cues, parse
from gamer.runtime.cues.tables import tables

from .test_parse import NOW, PLACES, RECURRING, TIMES, shown

# query, what it means, rest. A day is "20190503"; "@" a place, "-" what is excluded, "~" a weekday or hours,
# "?" an event from which a time is counted.
GERMAN = [
    ("das Meer bei Nizza", "@Nice", "das Meer"),
    ("Fotos aus Köln", "@Köln", "Fotos"),
    ("Hochzeit vor dem Sommer 2019", "*-20190531", "Hochzeit"),
    ("Fotos vom letzten Sommer in Paris", "20250601-20250831 @Paris", "Fotos"),
    ("Fotos von Weihnachten 2019", "20191220-20191227", "Fotos Weihnachten"),
    ("Silvester in Berlin", "20251231-20251231 @Berlin", "Silvester"),
    ("am 3. Mai 2019 am See", "20190503-20190503", "am See"),
    ("vom 3. bis 5. Mai 2019", "20190503-20190505", "vom 3. bis 5. Mai 2019"),
    ("Schnee Ende Januar 2018", "20180122-20180131", "Schnee"),
    ("Grillen im Mai letzten Jahres", "20250501-20250531", "Grillen"),
    ("Skifahren im vorletzten Winter", "20241201-20250228", "Skifahren"),
    ("Hund letzte Woche", "20260608-20260614", "Hund"),
    ("Ausflug vor drei Jahren", "20230101-20231231", "Ausflug"),
    ("Garten in den letzten zwei Monaten", "20260418-20260617T1530", "Garten"),
    ("Fotos zwischen 2010 und 2012", "20100101-20121231", "Fotos"),
    ("Fotos von 2010 bis 2012", "20100101-20121231", "Fotos"),
    ("Oma seit 2015", "20150101-20260617T1530", "Oma"),
    ("Oma vor 2010", "*-20091231", "Oma"),
    ("nach Weihnachten", "20251226-20260108", "nach Weihnachten"),
    ("zwei Tage nach Weihnachten", "20251227-20251227", "zwei Tage nach Weihnachten"),
    ("am Tag nach der Hochzeit", "?Hochzeit", "am Tag nach der Hochzeit"),
    ("Opa in den 90er Jahren", "19900101-19991231", "Opa"),
    ("letzten Samstag", "20260613-20260613", "letzten Samstag"),
    ("am Sonntagabend", "20260614T1700-20260614", "am Sonntagabend"),
    ("sonntags im Garten", "~Sun", "sonntags im Garten"),
    ("um 17:30 Uhr am Bahnhof", "~17:00-19:00", "um 17:30 Uhr am Bahnhof"),
    ("abends am See", "~17:00-24:00", "abends am See"),
    ("Essen gestern Abend", "20260616T1700-20260616 ~17:00-24:00", "Essen"),
    ("Kuchen vorgestern", "20260615-20260615", "Kuchen"),
    ("Strand, aber nicht in Paris", "-Paris", "Strand"),
    ("Hund nicht im Sommer 2019", "-20190601-20190831", "Hund"),
    ("von Mai bis Juli 2019", "20190501-20190731", "von Mai bis Juli 2019"),
    ("Balkon seit letztem Sommer", "20250601-20260617T1530", "Balkon"),
    ("unser Urlaub in Lissabon im Herbst 2018", "20180901-20181130 @Lisbon", "unser Urlaub"),
    ("Sonnenuntergang in Rom", "@Rome ~15:00-23:00", "Sonnenuntergang"),
    ("Urlaub in Deutschland im Mai", "20260501-20260531 @Germany", "Urlaub"),
    ("Kaffee heute Morgen", "20260617T0500-20260617T1200 ~05:00-12:00", "Kaffee"),
    ("letztes Wochenende", "20260613-20260614", "letztes Wochenende"),
]
FRENCH = [
    ("avant l'été 2019", "*-20190531", "avant l'été 2019"),
    ("depuis le printemps 2019", "20190301-20260617T1530", "depuis le printemps 2019"),
    ("photos de l'été dernier à Lyon", "20250601-20250831 @Lyon", "photos"),
    ("à Noël 2024", "20241220-20241227", "Noël"),
    ("le 3 mai 2019", "20190503-20190503", "le 3 mai 2019"),
    ("du 3 au 5 mai 2019", "20190503-20190505", "du 3 au 5 mai 2019"),
    ("neige fin janvier 2018", "20180122-20180131", "neige"),
    ("pique-nique en mai de l'année dernière", "20250501-20250531", "pique-nique"),
    ("ski l'hiver d'avant", "20241201-20250228", "ski"),
    ("le chien la semaine dernière", "20260608-20260614", "le chien"),
    ("il y a trois ans", "20230101-20231231", "il y a trois ans"),
    ("le jardin ces deux derniers mois", "20260418-20260617T1530", "le jardin"),
    ("photos entre 2010 et 2012", "20100101-20121231", "photos"),
    ("photos de 2010 à 2012", "20100101-20121231", "photos"),
    ("mamie depuis 2015", "20150101-20260617T1530", "mamie"),
    ("mamie avant 2010", "*-20091231", "mamie"),
    ("après Noël", "20251226-20260108", "après Noël"),
    ("deux jours après Noël", "20251227-20251227", "deux jours après Noël"),
    ("le lendemain du mariage", "?mariage", "le lendemain du mariage"),
    ("papi dans les années 90", "19900101-19991231", "papi"),
    ("samedi dernier", "20260613-20260613", "samedi dernier"),
    ("dimanche soir", "20260614T1700-20260614", "dimanche soir"),
    ("le dimanche au parc", "~Sun", "le dimanche au parc"),
    ("à 17h30 à la gare", "~17:00-19:00", "à 17h30 à la gare"),
    ("le soir au bord du lac", "~17:00-24:00", "le soir au bord du lac"),
    ("dîner hier soir", "20260616T1700-20260616 ~16:00-24:00 ~17:00-24:00", "dîner"),
    ("gâteau avant-hier", "20260615-20260615", "gâteau"),
    ("plage mais pas à Paris", "-Paris", "plage"),
    ("de mai à juillet 2019", "20190501-20190731", "de mai à juillet 2019"),
    ("le balcon depuis l'été dernier", "20250601-20260617T1530", "le balcon"),
    ("au Japon en avril 2019", "20190401-20190430 @Japan", "au Japon en avril 2019"),
    ("coucher de soleil à Lisbonne", "@Lisbon ~15:00-23:00", "coucher de soleil"),
    ("vacances en Allemagne en juin", "20260601-20260630 @Germany", "vacances"),
    ("café ce matin", "20260617T0500-20260617T1200 ~05:00-12:00", "café"),
    ("le week-end dernier", "20260613-20260614", "le week-end dernier"),
    ("galette en janvier 2020", "20200101-20200131", "galette"),
    ("en 2016 près de Lyon", "20160101-20161231 @Lyon", "en 2016 près de Lyon"),
]
SPANISH = [
    ("hasta el verano de 2019", "*-20190831", "hasta el verano de 2019"),
    ("el verano pasado en París", "20250601-20250831 @Paris", "el verano pasado en París"),
    ("la Navidad pasada", "20251220-20251227", "Navidad"),
    ("el 3 de mayo de 2019", "20190503-20190503", "el 3 de mayo de 2019"),
    ("del 3 al 5 de mayo de 2019", "20190503-20190505", "del 3 al 5 de mayo de 2019"),
    ("nieve a finales de enero de 2018", "20180122-20180131", "nieve"),
    ("picnic en mayo del año pasado", "20250501-20250531", "picnic"),
    ("esquí en el invierno de 2016", "20151201-20160229 20161201-20170228", "esquí"),
    ("el perro la semana pasada", "20260608-20260614", "el perro"),
    ("excursión hace tres años", "20230101-20231231", "excursión"),
    ("jardín en los últimos dos meses", "20260418-20260617T1530", "jardín"),
    ("fotos entre 2010 y 2012", "20100101-20121231", "fotos"),
    ("fotos de 2010 a 2012", "20100101-20121231", "fotos"),
    ("abuela desde 2015", "20150101-20260617T1530", "abuela"),
    ("abuela antes de 2010", "*-20091231", "abuela"),
    ("después de Navidad", "20251226-20260108", "después de Navidad"),
    ("dos días después de Navidad", "20251227-20251227", "dos días después de Navidad"),
    ("el día después de la boda", "?boda", "el día después de la boda"),
    ("abuelo en los años 90", "19900101-19991231", "abuelo"),
    ("el sábado pasado", "20260613-20260613", "el sábado pasado"),
    ("el domingo por la tarde", "20260614T1200-20260614T1800", "el domingo por la tarde"),
    ("los domingos en el parque", "~Sun", "los domingos en el parque"),
    ("a las 17:30 en la estación", "~17:00-19:00", "a las 17:30 en la estación"),
    ("a las 5 de la tarde", "~16:30-18:30", "a las 5 de la tarde"),
    ("concierto anoche", "20260616T1800-20260617T0600 ~18:00-30:00", "concierto"),
    ("pastel anteayer", "20260615-20260615", "pastel"),
    ("playa pero no en París", "-Paris", "playa"),
    ("de mayo a julio de 2019", "20190501-20190731", "de mayo a julio de 2019"),
    ("el balcón desde el verano pasado", "20250601-20260617T1530", "el balcón"),
    ("en Londres en primavera de 2016", "20160301-20160531 @London", "en Londres en primavera de 2016"),
    ("atardecer en Lisboa", "@Lisbon ~15:00-23:00", "atardecer"),
    ("vacaciones en Alemania en junio", "20260601-20260630 @Germany", "vacaciones"),
    ("café esta mañana", "20260617T0500-20260617T1200 ~05:00-12:00", "café"),
    ("el fin de semana pasado", "20260613-20260614", "el fin de semana pasado"),
    ("Nochevieja 2018 en Madrid", "20181231-20181231 @Madrid", "Nochevieja"),
    ("la playa en agosto", "20250801-20250831", "la playa"),
]
RUSSIAN = [
    ("с прошлого лета", "20250601-20260617T1530", "с прошлого лета"),
    ("до лета 2019", "*-20190531", "до лета 2019"),
    ("прошлым летом в Париже", "20250601-20250831 @Paris", "прошлым летом в Париже"),
    ("ёлка на Рождество 2019", "20190106-20190107", "ёлка Рождество"),
    ("3 мая 2019 года", "20190503-20190503", "3 мая 2019 года"),
    ("с 3 по 5 мая 2019", "20190503-20190505", "с 3 по 5 мая 2019"),
    ("снег в конце января 2018", "20180122-20180131", "снег"),
    ("пикник в мае прошлого года", "20250501-20250531", "пикник"),
    ("лыжи позапрошлой зимой", "20241201-20250228", "лыжи"),
    ("собака на прошлой неделе", "20260608-20260614", "собака"),
    ("три года назад", "20230101-20231231", "три года назад"),
    ("2 недели назад", "20260601-20260607", "2 недели назад"),
    ("сад за последние два месяца", "20260418-20260617T1530", "сад"),
    ("фото между 2010 и 2012", "20100101-20121231", "фото"),
    ("фото с 2010 по 2012 год", "20100101-20121231", "фото"),
    ("бабушка с 2015 года", "20150101-20260617T1530", "бабушка"),
    ("бабушка до 2010 года", "*-20091231", "бабушка"),
    ("после Рождества", "20260108-20260121", "после Рождества"),
    ("через два дня после Рождества", "20260109-20260109", "через два дня после Рождества"),
    ("на следующий день после свадьбы", "?свадьбы", "на следующий день после свадьбы"),
    ("дедушка в 90-е годы", "19900101-19991231", "дедушка"),
    ("в прошлую субботу", "20260613-20260613", "в прошлую субботу"),
    ("в воскресенье вечером", "20260614T1700-20260614", "в воскресенье вечером"),
    ("по воскресеньям в парке", "~Sun", "по воскресеньям в парке"),
    ("в 17:30 на вокзале", "~17:00-19:00", "в 17:30 на вокзале"),
    ("в 5 часов вечера", "~16:30-18:30", "в 5 часов вечера"),
    ("ужин вчера вечером", "20260616T1700-20260616 ~16:00-24:00 ~17:00-24:00", "ужин"),
    ("торт позавчера", "20260615-20260615", "торт"),
    ("пляж, но не в Париже", "-Paris", "пляж"),
    ("с мая по июль 2019", "20190501-20190731", "с мая по июль 2019"),
    ("летом 2016 в Лиссабоне", "20160601-20160831 @Lisbon", "летом 2016 в Лиссабоне"),
    ("закат в Москве", "@Moscow ~15:00-23:00", "закат"),
    (
        "в Санкт-Петербурге зимой 2015",
        "20141201-20150228 20151201-20160229 @Saint Petersburg",
        "в Санкт-Петербурге зимой 2015",
    ),
    ("в Японии весной 2018", "20180301-20180531 @Japan", "в Японии весной 2018"),
    ("кофе сегодня утром", "20260617T0500-20260617T1200 ~05:00-12:00", "кофе"),
    ("собака на пляже в Нью-Йорке", "@New York City", "собака на пляже"),
    ("в июне 2024", "20240601-20240630", "в июне 2024"),
]
CHINESE = [
    ("去年夏天在巴黎", "20250601-20250831 @Paris", "去年夏天在巴黎"),
    ("2019年5月3日在里斯本", "20190503-20190503 @Lisbon", "2019年5月3日在里斯本"),
    ("2019年5月", "20190501-20190531", "2019年5月"),
    ("去年五月的野餐", "20250501-20250531", "野餐"),
    ("5月3日", "20260503-20260503", "5月3日"),
    ("2019年5月3日到5日", "20190503-20190505", "2019年5月3日到5日"),
    ("2018年1月底的雪", "20180122-20180131", "雪"),
    ("前年冬天滑雪", "20241201-20250228", "滑雪"),
    ("上周的狗", "20260608-20260614", "狗"),
    ("三年前", "20230101-20231231", "三年前"),
    ("最近两个月的花园", "20260418-20260617T1530", "花园"),
    ("2010年到2012年", "20100101-20121231", "2010年到2012年"),
    ("2015年以来的奶奶", "20150101-20260617T1530", "奶奶"),
    ("2010年以前的奶奶", "*-20091231", "奶奶"),
    ("九十年代的爷爷", "19900101-19991231", "爷爷"),
    ("80年代", "19800101-19891231", "80年代"),
    ("上周六", "20260613-20260613", "上周六"),
    ("上周六晚上", "20260613T1700-20260613", "上周六晚上"),
    ("每周日", "~Sun", "每周日"),
    ("下午5点", "~16:30-18:30", "下午5点"),
    ("17点30分", "~17:00-19:00", "17点30分"),
    ("昨天晚上的音乐会", "20260616T1800-20260617T0600 ~18:00-30:00", "音乐会"),
    ("前天的蛋糕", "20260615-20260615", "蛋糕"),
    ("不在巴黎的海滩", "-Paris", "海滩"),
    ("2019年5月到7月", "20190501-20190731", "2019年5月到7月"),
    ("东京的樱花", "@Tokyo", "樱花"),
    ("巴黎附近的海滩", "@Paris", "海滩"),
    ("去年圣诞节", "20251220-20251227", "圣诞节"),
    ("2020年春节", "20200104-20200209", "春节"),
    ("2025年中秋节的月饼", "20251005-20251007", "中秋节 月饼"),
    ("晚上的海滩", "~17:00-24:00", "晚上的海滩"),
    ("今天早上的咖啡", "20260617T0500-20260617T1200 ~05:00-12:00", "咖啡"),
    ("上周末", "20260613-20260614", "上周末"),
    ("上个月", "20260501-20260531", "上个月"),
    ("日落", "~15:00-23:00", "日落"),
    ("在德国", "@Germany", "在德国"),
]
JAPANESE = [
    ("昨年の夏パリで", "20250601-20250831 @Paris", "昨年の夏パリで"),
    ("東京での写真", "@Tokyo", "写真"),
    ("2019年5月3日", "20190503-20190503", "2019年5月3日"),
    ("2019年5月3日から5日", "20190503-20190505", "2019年5月3日から5日"),
    ("2018年1月下旬の雪", "20180122-20180131", "雪"),
    ("去年の5月のピクニック", "20250501-20250531", "ピクニック"),
    ("一昨年の冬のスキー", "20241201-20250228", "スキー"),
    ("先週の犬", "20260608-20260614", "犬"),
    ("三年前の写真", "20230101-20231231", "写真"),
    ("2週間前", "20260601-20260607", "2週間前"),
    ("この2ヶ月の庭", "20260418-20260617T1530", "庭"),
    ("2010年から2012年まで", "20100101-20121231", "2010年から2012年まで"),
    ("2015年以降のおばあちゃん", "20150101-20260617T1530", "おばあちゃん"),
    ("2010年以前のおばあちゃん", "*-20091231", "おばあちゃん"),
    ("90年代のおじいちゃん", "19900101-19991231", "おじいちゃん"),
    ("先週の土曜日", "20260613-20260613", "先週の土曜日"),
    ("日曜日の夜", "20260614T1700-20260614", "日曜日の夜"),
    ("毎週日曜日", "~Sun", "毎週日曜日"),
    ("午後5時", "~16:30-18:30", "午後5時"),
    ("17時30分", "~17:00-19:00", "17時30分"),
    ("昨夜のコンサート", "20260616T1800-20260617T0600 ~18:00-30:00", "コンサート"),
    ("おとといのケーキ", "20260615-20260615", "ケーキ"),
    ("2019年5月から7月", "20190501-20190731", "2019年5月から7月"),
    ("京都の近くの海", "@Kyoto", "海"),
    ("リスボンの夕日", "@Lisbon ~15:00-23:00", "夕日"),
    ("去年のクリスマス", "20251220-20251227", "クリスマス"),
    ("2019年のお正月", "20190101-20190101", "お正月"),
    ("ゴールデンウィーク2019", "20190429-20190505", "ゴールデンウィーク"),
    ("夜の海", "~18:00-30:00", "夜の海"),
    ("今朝のコーヒー", "20260617T0500-20260617T1200 ~05:00-12:00", "コーヒー"),
    ("先週末", "20260613-20260614", "先週末"),
    ("先月", "20260501-20260531", "先月"),
    ("今年の春の桜", "20260301-20260531", "桜"),
    ("ドイツの城", "@Germany", "城"),
    ("2016年の秋に京都で", "20160901-20161130 @Kyoto", "2016年の秋に京都で"),
]

FOREIGN = [*GERMAN, *FRENCH, *SPANISH, *RUSSIAN, *CHINESE, *JAPANESE]
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def meant(cues: Cues) -> str:
    """What the cues say, as the tables above write it."""
    hours = [
        ",".join(DAYS[d] for d in r.weekdays) or "-".join(map(_clock, r.minutes)) for r in cues.recurring
    ]
    excluded = [*(p.name for p in cues.negated_places), *shown(Cues(times=cues.negated_times))]
    return " ".join(
        [
            *shown(cues),
            *(f"@{p.name}" for p in cues.places),
            *(f"-{name}" for name in excluded),
            *(f"~{hour}" for hour in hours),
            *(f"?{anchor.phrase}" for anchor in cues.anchors),
        ]
    )


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


@pytest.mark.parametrize(("query", "meaning", "rest"), FOREIGN)
def test_times_and_places_are_read_in_six_languages(
    query: str, meaning: str, rest: str, gazetteer: Gazetteer
) -> None:
    cues = parse(query, NOW, gazetteer)
    assert (meant(cues), cues.rest) == (meaning, rest)
    for cue in (*cues.times, *cues.places, *cues.negated, *cues.recurring, *cues.anchors):
        assert query[slice(*cue.span)] == cue.text


def test_every_language_is_tested_with_thirty_queries() -> None:
    assert all(len(table) >= 30 for table in (GERMAN, FRENCH, SPANISH, RUSSIAN, CHINESE, JAPANESE))
    assert len(tables().languages) == 6


@pytest.mark.parametrize("query", [str(row[0]) for table in (TIMES, RECURRING, PLACES) for row in table])
def test_an_english_query_stays_as_it_is(query: str, gazetteer: Gazetteer) -> None:
    assert translated(query, NOW.year, gazetteer) is None


@pytest.mark.parametrize(
    "query",
    [
        "Las Vegas last summer",
        "El Niño",
        "Halloween!",
        "pain au chocolat",
        "no snow",
        "Ferry Island",
        "La La Land",
    ],
)
def test_foreign_words_in_an_english_query_change_nothing(query: str) -> None:
    assert translated(query, NOW.year, None) is None


def test_an_inherited_negation_and_the_words_between_cues_are_removed(gazetteer: Gazetteer) -> None:
    cues = parse("Strand nicht in Paris oder Lissabon", NOW, gazetteer)
    assert [p.name for p in cues.negated_places] == ["Paris", "Lisbon"]
    assert cues.rest == "Strand"


def test_a_name_in_a_longer_word_of_katakana_is_no_place(gazetteer: Gazetteer) -> None:
    assert not parse("アメリカンドッグ", NOW, gazetteer).places
    assert [p.name for p in parse("アメリカで", NOW, gazetteer).places] == ["United States"]


def test_without_a_gazetteer_names_in_other_scripts_stay() -> None:
    cues = parse("去年夏天在巴黎", NOW, None)
    assert shown(cues) == ["20250601-20250831"]
    assert "巴黎" in cues.rest


def test_every_rule_stays_in_the_shared_syntax_and_fills_only_groups_that_it_has() -> None:
    for language in tables().languages:
        for rule in language.rules:
            shared = expand(language, rule.pattern)
            names = re.findall(r"\(\?<([a-z]+[0-9]?)>", shared)
            assert "(?P" not in shared
            assert "<<" not in shared
            assert len(names) == len(set(names))
            slots = set(re.findall(r"\{([a-z]+[0-9]?)\}", rule.english))
            assert slots <= set(names)
            assert compiled(language, rule.pattern)
        # What a table says is English that the reader knows, so it has no letters but ASCII.
        assert all(word.isascii() for table in language.tables.values() for word in table.values())
        assert all(name == lowered(name) for table in language.tables.values() for name in table)


def test_the_language_is_found_from_letters_and_words() -> None:
    queries = {
        "ja": "犬と海",
        "zh": "狗和海",
        "ru": "собака",
        "de": "der Hund und die Katze",
        "fr": "le chien avec le chat",
        "es": "el perro y el gato",
    }
    found = {name: language_of(query) for name, query in queries.items()}
    assert {name: language and language.name for name, language in found.items()} == {n: n for n in queries}
    assert language_of("the dog and the cat") is None
    assert language_of("") is None


@settings(max_examples=150, deadline=None)
@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from([w for q, *_ in FOREIGN for w in q.split()])).map(" ".join)
)
def test_no_text_is_an_error_and_sources_lie_in_the_query(gazetteer: Gazetteer, text: str) -> None:
    reading = translated(text, NOW.year, gazetteer)
    if reading is not None:
        assert len(reading.text) == len(reading.sources)
        assert all(0 <= a <= b <= len(text) for a, b in reading.sources)
    cues = parse(text, NOW, gazetteer)
    assert all(text[slice(*c.span)] == c.text for c in (*cues.times, *cues.places, *cues.negated))

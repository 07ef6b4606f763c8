"""The Spanish phrase table: shorter than the English one, and proof that a language is only data."""

from __future__ import annotations

from ralph.core.sentence.phrases import BoundPhrases, CriterionPhrases, Form, PhraseTable
from ralph.core.sentence.phrases_en import ENGLISH

_MOST = "(hasta|como máximo|como maximo|máximo|maximo|no más de|no mas de)"
_COUNT = "(intentos|intento|iteraciones|iteración|iteracion|veces|vueltas|rondas)"

SPANISH = PhraseTable(
    name="es",
    opening=("por favor", "oye", "hola", "ahora", "bueno", "puedes", "podrías", "podrias", "quiero que"),
    closing=("por favor", "gracias", "ya"),
    work=(
        "arregla", "arreglar", "corrige", "corregir", "repara", "reparar", "añade", "anade",
        "agrega", "implementa",
        "refactoriza", "migra", "mejora", "escribe", "elimina", "limpia", "actualiza", "sube",
        "documenta", "haz",
    ),
    keep=(
        "sigue", "sigue intentando", "sigue intentándolo", "sigue intentandolo", "sigue probando", "continúa",
        "continua", "itera", "repite", "no pares", "no te detengas", "inténtalo", "intentalo", "prueba",
        "sigue trabajando", "haz un bucle",
    ),
    perhaps=("trabaja", "prueba otra vez", "hazlo"),
    until=("hasta que", "hasta"),
    lists=("(atiende|resuelve) [todos] [los] problemas", "resuelve todas las incidencias"),
    rows=(
        Form("(ralph|al) (esto|eso){how}: {task}"),
        Form("(lanza|inicia|ejecuta|empieza) un {kind}bucle{how} (para|que) {task}"),
        Form("(arregla|corrige|arregla todo){how} hasta que (esté|este|todo esté|todo este) en verde",
            task="arregla los tests que fallan", criterion="los tests pasan"),
        Form("(sigue|continúa|continua) (arreglando|corrigiendo){how} hasta que {criterion}", task="",
            criterion="{criterion}"),
        Form("{keep}{how} hasta que {criterion}", task="", criterion="{criterion}"),
        Form("{keep}{how} hasta {criterion}", task="", criterion="{criterion}"),
        Form("{work} hasta que {criterion}", task="{work}", criterion="{criterion}", measured=True),
        Form("{work}(, | y |; |. ){keep}{how} hasta que {criterion}", task="{work}", criterion="{criterion}"),
        Form("ralph (esto|eso)", task=""),
        Form("(ejecuta|haz|corre) (esto|eso)", task="", only_external=True),
    ),
    controls=(
        ("abort", "(aborta|cancela) {loop}"),
        ("pause", "(para|pausa|detén|deten) {loop}"),
        ("status", "(estado|cuál es el estado|cual es el estado|cómo va|como va) [de|del] {loop}"),
        ("resume", "(reanuda|retoma) {loop}"),
    ),
    meanwhile=("eso", "esto", "el bucle", "bucle", "el último bucle", "el ultimo bucle", "ese bucle"),
    then=(" y", ", y", ";", ".", ",", " y luego"),
    questions=(
        "qué", "que es", "cómo", "como funciona", "por qué", "por que", "cuándo", "cuál", "quién", "debería",
        "deberia", "deberíamos", "¿", "es posible",
    ),
    polite=("puedes", "podrías", "podrias", "¿puedes", "¿podrías"),
    negations=("no hagas", "no inicies", "no sigas", "no repitas", "no lances"),
    opinions=("qué", "cómo", "por qué", "cuál", "explica", "compara", "decide", "recomienda", "debería"),
    bounds=BoundPhrases(
        tries=(f"[con|en] {_MOST} {{n}} {_COUNT}", f"{{n}} {_COUNT} (como máximo|como maximo|máximo|maximo)"),
        hours=(f"[durante|por] {_MOST} {{n}} {{unit}}", "durante {n} {unit}"),
        money=(f"[por|con] {_MOST} {{n}} (dólares|dolares|usd)",),
        firm=("iteraciones", "iteración", "iteracion"),
        endless=("para siempre", "sin fin", "sin parar", "sin límite", "sin limite"),
        numbers=tuple(
            {"un": 1, "una": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "diez": 10, "veinte": 20,
             "media": 0.5}.items()
        ),
        units=tuple(
            {"segundos": 1, "segundo": 1, "minutos": 60, "minuto": 60, "min": 60, "horas": 3600, "hora": 3600,
             "h": 3600, "m": 60, "s": 1, "días": 86400, "dias": 86400, "día": 86400, "dia": 86400}.items()
        ),
    ),
    outside=(
        "en segundo plano", "en background", "desatendido", "sin supervisión", "sin supervision",
        "como demonio",
    ),
    outside_names=("externo", "desatendido"),
    criteria=CriterionPhrases(
        done=(
            "terminar", "acabar", "terminado", "esté listo", "este listo", "esté hecho", "funcione", "pase",
            "todo funcione", "todo pase", "pasen",
        ),
        vague=("bien", "mejor", "perfecto", "limpio", "bonito", "listo"),
        passes=("pase", "pasen", "pasa", "pasan", "funcione", "termine con 0", *ENGLISH.criteria.passes),
        subjects=(
            ("cobertura|coverage", "añade tests para subir la cobertura"),
            ("tipos|mypy|pyright|tsc|typescript", "corrige los errores de tipos"),
            ("lint|linter|eslint|ruff|avisos|advertencias", "corrige los avisos del linter"),
            ("compile|compilación|compilacion|build", "arregla la compilación"),
            ("tests|test|pruebas|pytest|jest|verde", "arregla los tests que fallan"),
            ("errores|error|fallos", "corrige los errores"),
        ),
        attain="haz que se cumpla: {criterion}",
        completion=("completado", "terminado cuando", "listo cuando", "verificado con"),
    ),
)  # fmt: skip
